// SPDX-License-Identifier: Apache-2.0
// Makes the `INPerson` of the Intents framework from `IntentPerson` of StillwireExtension.
#if canImport(Intents) && !os(tvOS)
  public import Intents
  public import StillwireExtension

  extension INPerson {
    /// Makes a person of an intent.
    /// - Parameters:
    ///   - image: The picture that the extension has loaded from `fields.image`. Without it the system draws initials.
    ///   - contactIdentifier: `CNContact.identifier` of the person, if the app knows the contact. Allowed People of a
    ///     Focus are contacts: iOS matches this identifier first, then the handle.
    public convenience init(_ fields: IntentPerson, image: INImage? = nil, contactIdentifier: String? = nil) {
      self.init(
        personHandle: INPersonHandle(value: fields.handle, type: INPersonHandleType(fields.handleType)),
        nameComponents: nil, displayName: fields.displayName, image: image, contactIdentifier: contactIdentifier,
        customIdentifier: fields.customIdentifier, isMe: false, suggestionType: .instantMessageAddress)
    }
  }

  extension INPersonHandleType {
    fileprivate init(_ type: IntentPerson.HandleType) {
      switch type {
      case .emailAddress: self = .emailAddress
      case .phoneNumber: self = .phoneNumber
      case .unknown: self = .unknown
      }
    }
  }
#endif
