// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's PushKit that StillwireApple uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state the systems
// of that page.
public import Dispatch
public import Foundation

// https://developer.apple.com/documentation/dispatch/dispatch_queue_t
public typealias dispatch_queue_t = DispatchQueue

// https://developer.apple.com/documentation/pushkit/pkpushpayload
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
open class PKPushPayload: NSObject {
  // https://developer.apple.com/documentation/pushkit/pkpushpayload/dictionarypayload
  open var dictionaryPayload: [AnyHashable: Any] { fatalError() }
}

// https://developer.apple.com/documentation/pushkit/pkvoippushmetadata
@available(iOS 26.4, macOS 26.4, visionOS 26.4, watchOS 26.4, *)
@available(tvOS, unavailable)
open class PKVoIPPushMetadata: NSObject, @unchecked Sendable {
  // https://developer.apple.com/documentation/pushkit/pkvoippushmetadata/mustreport
  open var mustReport: Bool { fatalError() }
}

// https://developer.apple.com/documentation/pushkit/pkpushcredentials
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
open class PKPushCredentials: NSObject {
  // https://developer.apple.com/documentation/pushkit/pkpushcredentials/token
  open var token: Data { fatalError() }
}

// https://developer.apple.com/documentation/pushkit/pkpushtype
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
public struct PKPushType: Hashable, Sendable {
  public let rawValue: String
}

// https://developer.apple.com/documentation/pushkit/pkpushtype/voip
@available(iOS 9, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
extension PKPushType {
  public static let voIP = PKPushType(rawValue: "PKPushTypeVoIP")
}

// https://developer.apple.com/documentation/pushkit/pkpushregistry
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
open class PKPushRegistry: NSObject {
  // https://developer.apple.com/documentation/pushkit/pkpushregistry/init(queue:)
  public init(queue: dispatch_queue_t?) { fatalError() }
  // https://developer.apple.com/documentation/pushkit/pkpushregistry/delegate
  weak open var delegate: (any PKPushRegistryDelegate)?
  // https://developer.apple.com/documentation/pushkit/pkpushregistry/desiredpushtypes
  open var desiredPushTypes: Set<PKPushType>?
  // https://developer.apple.com/documentation/pushkit/pkpushregistry/pushtoken(for:)
  open func pushToken(for type: PKPushType) -> Data? { fatalError() }
}

// https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
public protocol PKPushRegistryDelegate: NSObjectProtocol {
  // https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate/pushregistry(_:didupdate:for:)
  func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType)
  // https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate/pushregistry(_:didreceiveincomingpushwith:for:completion:)
  func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
    completion: @escaping @Sendable () -> Void)
  // https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate/pushregistry(_:didinvalidatepushtokenfor:)
  func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType)
}

// https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate
@available(iOS 8, macOS 10.15, visionOS 1, watchOS 6, *)
@available(tvOS, unavailable)
extension PKPushRegistryDelegate {
  // These methods are optional in Objective-C.
  public func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
    completion: @escaping @Sendable () -> Void
  ) { fatalError() }
  // Is not a member of the protocol here: Swift supports conditions of members only in protocols of Objective-C.
  // https://developer.apple.com/documentation/pushkit/pkpushregistrydelegate/pushregistry(_:didreceiveincomingvoippushwith:metadata:withcompletionhandler:)
  @available(iOS 26.4, macOS 26.4, visionOS 26.4, watchOS 26.4, *)
  public func pushRegistry(
    _ registry: PKPushRegistry, didReceiveIncomingVoIPPushWith payload: PKPushPayload, metadata: PKVoIPPushMetadata,
    withCompletionHandler completion: @escaping @Sendable () -> Void
  ) { fatalError() }
  public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) { fatalError() }
}
