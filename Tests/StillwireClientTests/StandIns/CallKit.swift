// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's CallKit that StillwireApple uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state the systems
// of that page.
import Foundation

// https://developer.apple.com/documentation/callkit/cxhandle
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXHandle: NSObject {
  public enum HandleType: Int, Sendable {
    case generic = 1
    case phoneNumber, emailAddress
  }
  public init(type: HandleType, value: String) { fatalError() }
}

// https://developer.apple.com/documentation/callkit/cxcallupdate
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXCallUpdate: NSObject {
  public override init() { fatalError() }
  open var remoteHandle: CXHandle?
  open var localizedCallerName: String?
  open var hasVideo: Bool = false
}

// https://developer.apple.com/documentation/callkit/cxcallendedreason
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
public enum CXCallEndedReason: Int, Sendable {
  case failed = 1
  case remoteEnded, unanswered, answeredElsewhere, declinedElsewhere
}

// https://developer.apple.com/documentation/callkit/cxprovider
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXProvider: NSObject {
  open func reportNewIncomingCall(
    with UUID: UUID, update: CXCallUpdate, completion: @escaping @Sendable ((any Error)?) -> Void
  ) { fatalError() }
  open func reportCall(with UUID: UUID, endedAt dateEnded: Date?, reason endedReason: CXCallEndedReason) {
    fatalError()
  }
}
