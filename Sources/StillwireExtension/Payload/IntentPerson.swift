// SPDX-License-Identifier: Apache-2.0

/// The values of an `INPerson`.
public struct IntentPerson: Equatable, Sendable {
  /// The values of `INPersonHandleType`. A handle that only the app understands is `unknown`.
  public enum HandleType: String, Sendable, CaseIterable {
    case emailAddress, phoneNumber, unknown
  }

  public var displayName: String
  /// The id of the user.
  public var customIdentifier: String
  /// `INPersonHandle.value`: the sender's address, or the id of the user if the sender has no address. It is never
  /// empty, because iOS compares it with the Allowed People of a Focus.
  public var handle: String
  public var handleType: HandleType
  /// The URL of the picture.
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
