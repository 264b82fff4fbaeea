// SPDX-License-Identifier: Apache-2.0
package import RelayDelivery
package import RelayJSON
package import RelayProtocol

/// The relay's own texts of pushes in the languages that the operator has configured: `texts` of the configuration
/// file.
package struct PushTextTable: Equatable, Sendable {
  /// The texts by language tag in lower case.
  private var languages: [String: PushTexts] = [:]

  static let maxLanguages = 64

  package init() {}

  /// Throws an error that names the position of the wrong value.
  package init(_ list: [Fields]) throws(RequestError) {
    guard list.count <= Self.maxLanguages else {
      throw RequestError(.badRequest, "texts must have at most \(Self.maxLanguages) languages", at: "/texts")
    }
    for fields in list {
      let tag = try fields.required("language", fields.string("language", maxLength: LocalizedText.maxTagLength))
      guard tag.isLanguageTag else { throw fields.wrong("language", "is not a language tag, such as pt-BR") }
      var texts: [PushTextKey: String] = [:]
      for key in PushTextKey.allCases {
        guard let text = try fields.line(key.field, maxLength: PushTexts.maxText) else { continue }
        guard !text.allSatisfy(\.isWhitespace) else { throw fields.wrong(key.field, "must not be blank") }
        guard PushTexts.arguments(in: text) <= key.argumentCount else {
          throw fields.wrong(key.field, "must have at most \(key.argumentCount) placeholders (%@)")
        }
        texts[key] = text
      }
      guard languages.updateValue(PushTexts(texts), forKey: tag.lowercased()) == nil else {
        throw fields.wrong("language", "is already listed")
      }
    }
  }

  /// Returns the texts for a device. Without texts in its language, returns keys of the app's own translations.
  /// - Parameter locale: The locale in the device's spelling, such as `de_AT` or `zh-Hant-TW`.
  package func texts(for locale: String?) -> PushTexts {
    guard let locale, !languages.isEmpty else { return PushTexts() }
    // Remove the suffixes of POSIX (`de_AT.UTF-8`) and Apple (`de_AT@calendar=gregorian`).
    let tag = String(locale.prefix { $0 != "." && $0 != "@" }).replacing("_", with: "-")
    return LocalizedText.match(tag, in: languages) ?? PushTexts()
  }
}

extension PushTextKey {
  /// The name of the text in the configuration file.
  package var field: String {
    switch self {
    case .newMessage: "newMessage"
    case .incomingCall: "incomingCall"
    case .missedCall: "missedCall"
    case .callAnswered: "callAnswered"
    case .callDeclined: "callDeclined"
    case .messageDeleted: "messageDeleted"
    case .messages: "messages"
    case .messagesInRoom: "messagesInRoom"
    case .messagesInRooms: "messagesInRooms"
    case .invitationToRoom: "invitationToRoom"
    case .invitationToGroup: "invitationToGroup"
    case .invitationToWrite: "invitationToWrite"
    }
  }
}
