// SPDX-License-Identifier: Apache-2.0

/// What an `INPerson` is made of.
public struct IntentPerson: Equatable, Sendable {
  /// `INPersonHandleType`; `unknown` is a handle of the app's own kind.
  public enum HandleType: Equatable, Sendable {
    case emailAddress, phoneNumber, unknown
  }

  public var displayName: String
  /// The app's own name of the person: `customIdentifier`.
  public var customIdentifier: String
  /// `INPersonHandle.value`: the sender's address, or the id of the user where there is none. It is never empty, because
  /// iOS matches Allowed People of a Focus by it.
  public var handle: String
  public var handleType: HandleType
  /// Where the picture is.
  public var image: String?

  public init(_ person: PayloadPerson) {
    displayName = person.name
    customIdentifier = person.id
    handle = person.handle ?? person.id
    handleType = person.handle == nil ? .unknown : HandleType(person.handleType)
    image = person.avatar
  }
}

extension IntentPerson.HandleType {
  fileprivate init(_ type: String?) {
    switch type {
    case "email", "emailAddress", "mailto": self = .emailAddress
    case "phone", "phoneNumber", "tel": self = .phoneNumber
    default: self = .unknown
    }
  }
}
