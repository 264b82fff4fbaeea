// SPDX-License-Identifier: Apache-2.0
// Receives VoIP pushes with PushKit, and shows their calls with CallKit.
#if canImport(CallKit) && canImport(PushKit) && !os(macOS) && !os(tvOS)
  public import CallKit
  public import Foundation
  public import PushKit
  public import StillwireExtension

  /// The owner of the app's `PKPushRegistry` and `CXProvider`: it reports each VoIP push to CallKit.
  ///
  /// Make one in the app delegate at each launch, also in the background, and keep it: the system ends an app that does
  /// not report a VoIP push. Use it on the main thread.
  public final class CallReceiver: NSObject, PKPushRegistryDelegate, CXProviderDelegate {
    /// An event of the calls. The receiver passes the events to the app on the main actor.
    public enum Event: Equatable, Sendable {
      /// The system has another token for calls, or none. The device's registration is due: pass ``CallReceiver/token``
      /// to ``AppGroup/register(_:voipToken:criteria:as:)``.
      case tokenChanged
      /// The phone rings.
      case ringing(IncomingCall)
      /// The person has accepted the call. The app begins its audio or video.
      case answered(IncomingCall)
      /// The person has declined or ended the call, or the system does not show it, for example in a Focus.
      case ended(IncomingCall)
    }

    /// The provider, for calls that the person makes.
    public let provider: CXProvider
    private let registry: PKPushRegistry
    private let calls = Calls()
    private let handle: @MainActor @Sendable (Event) -> Void

    /// Registers for VoIP pushes.
    /// - Parameters:
    ///   - configuration: The ringtone, the icon, and the support for video.
    ///   - handle: Receives the events.
    @MainActor public init(
      _ configuration: CXProviderConfiguration = CXProviderConfiguration(),
      handle: @escaping @MainActor @Sendable (Event) -> Void
    ) {
      provider = CXProvider(configuration: configuration)
      // Without a queue, PushKit and CallKit call their delegates on the main queue.
      registry = PKPushRegistry(queue: nil)
      self.handle = handle
      super.init()
      provider.setDelegate(self, queue: nil)
      registry.delegate = self
      registry.desiredPushTypes = [.voIP]
    }

    /// The device's token for calls. Is `nil` until the system has issued one.
    public var token: Data? { registry.pushToken(for: .voIP) }

    /// Ends a call, for example because the caller has ended it.
    public func end(_ call: IncomingCall, reason: CXCallEndedReason = .remoteEnded) {
      guard calls.remove(call.id) != nil else { return }
      provider.reportCall(with: call.id, endedAt: nil, reason: reason)
    }

    // MARK: PushKit

    public func pushRegistry(
      _ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType
    ) { emit(.tokenChanged) }

    public func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) {
      emit(.tokenChanged)
    }

    public func pushRegistry(
      _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
      completion: @escaping @Sendable () -> Void
    ) {
      let call = IncomingCall(payload)
      if let call { calls.insert(call) }
      let ringing = provider.reportCall(of: payload) { [calls, handle] error in
        completion()
        guard error != nil, let call, calls.remove(call.id) != nil else { return }
        Task { @MainActor in handle(.ended(call)) }
      }
      if let ringing {
        emit(.ringing(ringing))
      } else if let call {
        calls.remove(call.id)
      }
    }

    // MARK: CallKit

    public func providerDidReset(_ provider: CXProvider) {
      for call in calls.removeAll() { emit(.ended(call)) }
    }

    public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
      guard let call = calls.find(action.callUUID) else { return action.fail() }
      emit(.answered(call))
      action.fulfill()
    }

    public func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
      guard let call = calls.remove(action.callUUID) else { return action.fail() }
      emit(.ended(call))
      action.fulfill()
    }

    private func emit(_ event: Event) {
      let handle = handle
      MainActor.assumeIsolated { handle(event) }
    }
  }

  /// The calls that ring or were accepted, by the ids of CallKit.
  private final class Calls: @unchecked Sendable {
    // `lock` protects the dictionary.
    private let lock = NSLock()
    private var calls: [UUID: IncomingCall] = [:]

    func insert(_ call: IncomingCall) { lock.withLock { calls[call.id] = call } }
    func find(_ id: UUID) -> IncomingCall? { lock.withLock { calls[id] } }
    @discardableResult
    func remove(_ id: UUID) -> IncomingCall? { lock.withLock { calls.removeValue(forKey: id) } }
    func removeAll() -> [IncomingCall] {
      lock.withLock {
        defer { calls = [:] }
        return Array(calls.values)
      }
    }
  }
#endif
