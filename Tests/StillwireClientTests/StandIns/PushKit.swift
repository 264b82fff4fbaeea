// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's PushKit that StillwireApple uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state the systems
// of that page.
import Foundation

// https://developer.apple.com/documentation/pushkit/pkpushpayload
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
open class PKPushPayload: NSObject {
  open var dictionaryPayload: [AnyHashable: Any] { fatalError() }
}

// https://developer.apple.com/documentation/pushkit/pkpushregistry
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
open class PKPushRegistry: NSObject {}

// https://developer.apple.com/documentation/pushkit/pkpushtype
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
public struct PKPushType: Hashable, Sendable {
  public let rawValue: String
}

// https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
public protocol PKPushRegistryDelegate: NSObjectProtocol {
  func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
    completion: @escaping @Sendable () -> Void)
}
