// SPDX-License-Identifier: Apache-2.0
// Declares the parts of Apple's CallKit that StillwireApple uses, as in its Swift interface. It checks types, and never
// runs. Above each declaration is the page of Apple's documentation that it comes from. The attributes state the systems
// of that page.
public import AVFAudio
public import Dispatch
public import Foundation

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
  // https://developer.apple.com/documentation/callkit/cxhandle/value
  open var value: String { fatalError() }
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
  // https://developer.apple.com/documentation/callkit/cxcallupdate/supportsholding
  open var supportsHolding: Bool = false
  // https://developer.apple.com/documentation/callkit/cxcallupdate/supportsgrouping
  open var supportsGrouping: Bool = false
  // https://developer.apple.com/documentation/callkit/cxcallupdate/supportsungrouping
  open var supportsUngrouping: Bool = false
  // https://developer.apple.com/documentation/callkit/cxcallupdate/supportsdtmf
  open var supportsDTMF: Bool = false
}

// https://developer.apple.com/documentation/callkit/cxcallendedreason
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
public enum CXCallEndedReason: Int, Sendable {
  case failed = 1
  case remoteEnded, unanswered, answeredElsewhere, declinedElsewhere
}

// https://developer.apple.com/documentation/callkit/cxerrorcodeincomingcallerror-swift.struct
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
public struct CXErrorCodeIncomingCallError: Error {
  // https://developer.apple.com/documentation/callkit/cxerrorcodeincomingcallerror-swift.struct/code
  public enum Code: Int, Sendable {
    case unknown, unentitled, callUUIDAlreadyExists, filteredByDoNotDisturb, filteredByBlockList
  }
  public var code: Code { fatalError() }
}

// https://developer.apple.com/documentation/callkit/cxproviderconfiguration
@available(iOS 10, macOS 11, visionOS 1, watchOS 9, *)
@available(tvOS, unavailable)
open class CXProviderConfiguration: NSObject {
  // https://developer.apple.com/documentation/callkit/cxproviderconfiguration/init()
  @available(iOS 14, macOS 11, visionOS 1, watchOS 9, *)
  public override init() { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxproviderconfiguration/ringtonesound
  open var ringtoneSound: String?
  // https://developer.apple.com/documentation/callkit/cxproviderconfiguration/maximumcallspercallgroup
  open var maximumCallsPerCallGroup: Int = 5
  // https://developer.apple.com/documentation/callkit/cxproviderconfiguration/supportsvideo
  open var supportsVideo: Bool = false
}

// https://developer.apple.com/documentation/callkit/cxaction
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXAction: NSObject {
  // https://developer.apple.com/documentation/callkit/cxaction/fulfill()
  open func fulfill() { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxaction/fail()
  open func fail() { fatalError() }
}

// https://developer.apple.com/documentation/callkit/cxcallaction
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXCallAction: CXAction {
  // https://developer.apple.com/documentation/callkit/cxcallaction/init(call:)
  public init(call callUUID: UUID) { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxcallaction/calluuid
  open var callUUID: UUID { fatalError() }
}

// https://developer.apple.com/documentation/callkit/cxstartcallaction
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXStartCallAction: CXCallAction {
  // https://developer.apple.com/documentation/callkit/cxstartcallaction/init(call:handle:)
  public init(call callUUID: UUID, handle: CXHandle) { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxstartcallaction/handle
  open var handle: CXHandle { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxstartcallaction/isvideo
  open var isVideo: Bool = false
}

// https://developer.apple.com/documentation/callkit/cxanswercallaction
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXAnswerCallAction: CXCallAction {}

// https://developer.apple.com/documentation/callkit/cxendcallaction
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXEndCallAction: CXCallAction {}

// https://developer.apple.com/documentation/callkit/cxsetmutedcallaction
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXSetMutedCallAction: CXCallAction {
  // https://developer.apple.com/documentation/callkit/cxsetmutedcallaction/ismuted
  open var isMuted: Bool = false
}

// https://developer.apple.com/documentation/callkit/cxsetheldcallaction
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXSetHeldCallAction: CXCallAction {
  // https://developer.apple.com/documentation/callkit/cxsetheldcallaction/isonhold
  open var isOnHold: Bool = false
}

// https://developer.apple.com/documentation/callkit/cxtransaction
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXTransaction: NSObject {
  // https://developer.apple.com/documentation/callkit/cxtransaction/init(action:)
  public init(action: CXAction) { fatalError() }
}

// https://developer.apple.com/documentation/callkit/cxcallcontroller
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXCallController: NSObject {
  // https://developer.apple.com/documentation/callkit/cxcallcontroller/init()
  public override init() { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxcallcontroller/request(_:completion:)
  open func request(_ transaction: CXTransaction, completion: @escaping @Sendable ((any Error)?) -> Void) {
    fatalError()
  }
}

// https://developer.apple.com/documentation/callkit/cxproviderdelegate
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
public protocol CXProviderDelegate: NSObjectProtocol {
  // https://developer.apple.com/documentation/callkit/cxproviderdelegate/providerdidreset(_:)
  func providerDidReset(_ provider: CXProvider)
  func provider(_ provider: CXProvider, perform action: CXStartCallAction)
  func provider(_ provider: CXProvider, perform action: CXAnswerCallAction)
  func provider(_ provider: CXProvider, perform action: CXEndCallAction)
  func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction)
  func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction)
  // https://developer.apple.com/documentation/callkit/cxproviderdelegate/provider(_:didactivate:)
  func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession)
  // https://developer.apple.com/documentation/callkit/cxproviderdelegate/provider(_:diddeactivate:)
  func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession)
}

// https://developer.apple.com/documentation/callkit/cxproviderdelegate
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
extension CXProviderDelegate {
  // These methods are optional in Objective-C.
  public func provider(_ provider: CXProvider, perform action: CXStartCallAction) { fatalError() }
  public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) { fatalError() }
  public func provider(_ provider: CXProvider, perform action: CXEndCallAction) { fatalError() }
  public func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) { fatalError() }
  public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) { fatalError() }
  public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) { fatalError() }
  public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) { fatalError() }
}

// https://developer.apple.com/documentation/callkit/cxprovider
@available(iOS 10, visionOS 1, watchOS 9, *)
@available(macOS, unavailable)
@available(tvOS, unavailable)
open class CXProvider: NSObject {
  // https://developer.apple.com/documentation/callkit/cxprovider/init(configuration:)
  public init(configuration: CXProviderConfiguration) { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxprovider/setdelegate(_:queue:)
  open func setDelegate(_ delegate: (any CXProviderDelegate)?, queue: DispatchQueue?) { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxprovider/invalidate()
  open func invalidate() { fatalError() }
  open func reportNewIncomingCall(
    with UUID: UUID, update: CXCallUpdate, completion: @escaping @Sendable ((any Error)?) -> Void
  ) { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxprovider/reportoutgoingcall(with:startedconnectingat:)
  open func reportOutgoingCall(with UUID: UUID, startedConnectingAt dateStartedConnecting: Date?) { fatalError() }
  // https://developer.apple.com/documentation/callkit/cxprovider/reportoutgoingcall(with:connectedat:)
  open func reportOutgoingCall(with UUID: UUID, connectedAt dateConnected: Date?) { fatalError() }
  open func reportCall(with UUID: UUID, endedAt dateEnded: Date?, reason endedReason: CXCallEndedReason) {
    fatalError()
  }
}
