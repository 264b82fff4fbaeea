// SPDX-License-Identifier: Apache-2.0
// Reports the calls of StillwireExtension to CallKit.
#if canImport(CallKit) && canImport(PushKit) && !os(macOS) && !os(tvOS)
  public import CallKit
  public import Foundation
  public import PushKit
  public import StillwireExtension

  extension IncomingCall {
    /// Reads the call of a VoIP push. Returns `nil` if the push is not a call of the relay.
    public init?(_ payload: PKPushPayload) {
      guard JSONSerialization.isValidJSONObject(payload.dictionaryPayload),
        // An escaped slash would make a payload at the maximum size too long.
        let text = try? JSONSerialization.data(
          withJSONObject: payload.dictionaryPayload, options: .withoutEscapingSlashes)
      else { return nil }
      self.init(reading: text)
    }

    /// The values that CallKit shows. The system offers no hold, no groups and no tones of the keypad: an app that has
    /// these sets their properties.
    public var update: CXCallUpdate {
      let update = CXCallUpdate()
      update.remoteHandle = CXHandle(type: CXHandle.HandleType(caller.handleType), value: caller.handle)
      update.localizedCallerName = caller.displayName
      update.hasVideo = hasVideo
      update.supportsHolding = false
      update.supportsGrouping = false
      update.supportsUngrouping = false
      update.supportsDTMF = false
      return update
    }
  }

  extension CXProvider {
    /// Reports the call of a VoIP push, and returns it if the phone rings.
    ///
    /// Call this before the method of the `PKPushRegistryDelegate` returns. The system ends an app that does not report a
    /// call for a push with `mustReport`. Such a push that is too late or unreadable is therefore also reported, and ended
    /// immediately.
    /// - Parameters:
    ///   - mustReport: `PKVoIPPushMetadata.mustReport`. Pass true before iOS 26.4.
    ///   - isKnown: True if the app has reported the call of this push, and the call is not over: the push has arrived
    ///     twice.
    ///   - isHidden: True if the called user is not signed in. The call is reported without its caller, and ended
    ///     immediately.
    ///   - now: The time of the phone when the push arrived. If the phone rings, it rings for
    ///     ``StillwireExtension/IncomingCall/ringing(at:)`` of this time.
    ///   - supportsHolding: True if the app puts calls on hold.
    ///   - completion: Receives the error if the system does not show the call, for example in a Focus. Is also called if
    ///     there is nothing to report.
    @discardableResult
    public func reportCall(
      of payload: PKPushPayload, mustReport: Bool = true, isKnown: Bool = false, isHidden: Bool = false,
      now: Date = Date(), supportsHolding: Bool = false, completion: @escaping @Sendable ((any Error)?) -> Void
    ) -> IncomingCall? {
      let call = isHidden ? nil : IncomingCall(payload)
      switch IncomingCall.Report(call, mustReport: mustReport, isKnown: isKnown, now: now) {
      case .ring(let call):
        let update = call.update
        update.supportsHolding = supportsHolding
        reportNewIncomingCall(with: call.id, update: update, completion: completion)
        return call
      case .endUnanswered(let call):
        reportNewIncomingCall(with: call.id, update: call.update, completion: completion)
        reportCall(with: call.id, endedAt: nil, reason: .unanswered)
      case .endFailed(let id):
        reportNewIncomingCall(with: id, update: CXCallUpdate(), completion: completion)
        reportCall(with: id, endedAt: nil, reason: .failed)
      case .repeated(let call):
        reportNewIncomingCall(with: call.id, update: CXCallUpdate(), completion: completion)
      case .nothing: completion(nil)
      }
      return nil
    }
  }

  extension PhoneCall.NotShown {
    /// The reason in an error of `reportNewIncomingCall(with:update:completion:)`.
    public init(_ error: any Error) {
      switch (error as? CXErrorCodeIncomingCallError)?.code {
      case .filteredByDoNotDisturb: self = .focus
      case .filteredByBlockList: self = .blocked
      case .callUUIDAlreadyExists: self = .duplicate
      default: self = .failed
      }
    }
  }

  extension CXHandle.HandleType {
    fileprivate init(_ type: IntentPerson.HandleType) {
      switch type {
      case .emailAddress: self = .emailAddress
      case .phoneNumber: self = .phoneNumber
      case .unknown: self = .generic
      }
    }
  }
#endif
