// SPDX-License-Identifier: Apache-2.0
#if canImport(Intents) && !os(macOS) && !os(tvOS)
  public import Intents
  public import StillwireClient

  extension INPerson {
    /// - Parameter image: What `fields.image` leads to, as the extension has loaded it; nil: the system draws initials.
    public convenience init(_ fields: IntentPerson, image: INImage? = nil) {
      self.init(
        personHandle: INPersonHandle(value: fields.handle, type: INPersonHandleType(fields.handleType)),
        nameComponents: nil, displayName: fields.displayName, image: image, contactIdentifier: nil,
        customIdentifier: fields.customIdentifier)
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
