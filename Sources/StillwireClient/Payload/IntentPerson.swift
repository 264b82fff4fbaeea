// SPDX-License-Identifier: Apache-2.0

/// What an `INPerson` is made of.
public struct IntentPerson: Equatable, Sendable {
  /// `INPersonHandleType`.
  public enum HandleType: Equatable, Sendable {
    case emailAddress, phoneNumber, unknown
  }

  public var displayName: String
  /// The app's own name of the person: `customIdentifier`.
  public var customIdentifier: String
  /// `INPersonHandle.value`: a real address, or nil; never empty.
  public var handle: String?
  public var handleType: HandleType
  /// Where the picture is.
  public var image: String?

  public init(_ person: PayloadPerson) {
    displayName = person.name
    customIdentifier = person.id
    handle = person.handle
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
