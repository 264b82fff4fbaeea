// SPDX-License-Identifier: Apache-2.0
// Receives VoIP pushes with PushKit, shows their calls with CallKit, and answers them at the relay.
#if canImport(CallKit) && canImport(PushKit) && !os(macOS) && !os(tvOS)
  public import AVFAudio
  public import CallKit
  public import Foundation
  public import PushKit
  public import StillwireExtension

  /// The owner of the app's `PKPushRegistry` and `CXProvider`: it reports each VoIP push to CallKit, and the person's
  /// choice to the relay.
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
      /// The person has accepted the call, and the relay has ended the ringing on the other devices. The app begins its
      /// audio or video.
      case answered(IncomingCall)
      /// The call is over on this phone: the person or another one has ended it, another device has answered, the answer
      /// did not reach the relay, or the system does not show it, for example in a Focus.
      case ended(IncomingCall)
      /// The person begins a call from this phone, with the system or with the app's `CXCallController`. The app rings
      /// with ``StillwireClient/Room/ring(media:push:key:)``.
      case started(OutgoingCall)
      /// The person has ended a call that no push has begun. The app hangs up at the relay.
      case startedCallEnded(UUID)
      /// The system has activated the audio session. Start the audio only now.
      case audioActivated
      /// The system has deactivated the audio session. Stop the audio.
      case audioDeactivated
    }

    /// A call that the person begins.
    public struct OutgoingCall: Equatable, Sendable {
      /// The id of CallKit.
      public var id: UUID
      /// The handle of the called person.
      public var handle: String
      public var hasVideo: Bool
    }

    /// The provider, for calls that the person makes.
    public let provider: CXProvider
    private let registry: PKPushRegistry
    private let api: RelayAPI?
    private let calls: Calls
    private let handle: @MainActor @Sendable (Event) -> Void

    /// Registers for VoIP pushes.
    /// - Parameters:
    ///   - configuration: The ringtone, the icon, and the support for video.
    ///   - api: Answers, declines and hangs up at the relay: ``AppGroup/api``, whose report key is valid after the token
    ///     has expired. If it is `nil`, the app does that.
    ///   - handle: Receives the events.
    @MainActor public init(
      _ configuration: CXProviderConfiguration = CXProviderConfiguration(), api: RelayAPI?,
      handle: @escaping @MainActor @Sendable (Event) -> Void
    ) {
      provider = CXProvider(configuration: configuration)
      // Without a queue, PushKit and CallKit call their delegates on the main queue.
      registry = PKPushRegistry(queue: nil)
      calls = Calls(provider)
      self.api = api
      self.handle = handle
      super.init()
      provider.setDelegate(self, queue: nil)
      registry.delegate = self
      registry.desiredPushTypes = [.voIP]
    }

    deinit { provider.invalidate() }

    /// The device's token for calls. Is `nil` until the system has issued one.
    public var token: Data? { registry.pushToken(for: .voIP) }

    /// Ends a call, for example because the caller has ended it. Sends nothing to the relay.
    @MainActor public func end(_ call: IncomingCall, reason: CXCallEndedReason = .remoteEnded) {
      calls.end(call, reason: reason)
    }

    /// Ends the ringing or the call on this phone if an event of the relay says so, and then passes
    /// ``Event/ended(_:)``. Call it with each event of the client: `follow(_:user:)` of `StillwireUI` does so.
    /// - Parameters:
    ///   - event: A change of a call.
    ///   - user: The user of this app.
    @MainActor public func apply(_ event: CallEvent, user: UserID) {
      for (call, isAccepted) in calls.all {
        guard let end = call.end(after: event, of: user, isAccepted: isAccepted) else { continue }
        calls.end(call, reason: CXCallEndedReason(end))
        handle(.ended(call))
      }
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
      for (call, isAccepted) in calls.removeAll() {
        emit(.ended(call))
        if isAccepted { report(.hangUp, call) }
      }
    }

    public func provider(_ provider: CXProvider, perform action: CXStartCallAction) {
      emit(
        .started(OutgoingCall(id: action.callUUID, handle: action.handle.value, hasVideo: action.isVideo)))
      action.fulfill()
    }

    public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
      guard let call = calls.accept(action.callUUID) else { return action.fail() }
      action.fulfill()
      guard let api, let message = call.payload.message else { return emit(.answered(call)) }
      Task { @MainActor [calls, handle] in
        do {
          try await api.answer(message)
          if calls.contains(call) {
            handle(.answered(call))
          } else {
            // The person has ended the call before the reply.
            try await api.hangUp(message)
          }
        } catch {
          guard calls.contains(call) else { return }
          let isTaken = (error as? StillwireError)?.code == .refused(.conflict)
          calls.end(call, reason: isTaken ? .answeredElsewhere : .failed)
          handle(.ended(call))
        }
      }
    }

    public func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
      let ended = calls.remove(action.callUUID)
      action.fulfill()
      guard let (call, isAccepted) = ended else { return emit(.startedCallEnded(action.callUUID)) }
      emit(.ended(call))
      report(isAccepted ? .hangUp : .decline, call)
    }

    public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) { emit(.audioActivated) }

    public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) {
      emit(.audioDeactivated)
    }

    /// Reports the end of a call to the relay. If that fails, the ringing or the call ends by its own time.
    private func report(_ action: Call.Action, _ call: IncomingCall) {
      guard let api, let message = call.payload.message else { return }
      Task { _ = try? await action == .decline ? api.decline(message) : api.hangUp(message) }
    }

    private func emit(_ event: Event) {
      let handle = handle
      MainActor.assumeIsolated { handle(event) }
    }
  }

  extension CXCallEndedReason {
    fileprivate init(_ end: IncomingCall.End) {
      switch end {
      case .answeredElsewhere: self = .answeredElsewhere
      case .declinedElsewhere: self = .declinedElsewhere
      case .unanswered: self = .unanswered
      case .remoteEnded: self = .remoteEnded
      }
    }
  }

  /// The calls that ring or were accepted, by the ids of CallKit.
  private final class Calls: @unchecked Sendable {
    typealias Entry = (call: IncomingCall, isAccepted: Bool)

    // `lock` protects the dictionary. Only the main actor uses the provider.
    private let provider: CXProvider
    private let lock = NSLock()
    private var calls: [UUID: Entry] = [:]

    init(_ provider: CXProvider) { self.provider = provider }

    var all: [Entry] { lock.withLock { Array(calls.values) } }

    func insert(_ call: IncomingCall) { lock.withLock { calls[call.id] = (call, false) } }

    func contains(_ call: IncomingCall) -> Bool { lock.withLock { calls[call.id] != nil } }

    /// Marks a call as accepted. Returns `nil` if it does not ring.
    func accept(_ id: UUID) -> IncomingCall? {
      lock.withLock {
        calls[id]?.isAccepted = true
        return calls[id]?.call
      }
    }

    @discardableResult
    func remove(_ id: UUID) -> Entry? { lock.withLock { calls.removeValue(forKey: id) } }

    func removeAll() -> [Entry] {
      lock.withLock {
        defer { calls = [:] }
        return Array(calls.values)
      }
    }

    @MainActor func end(_ call: IncomingCall, reason: CXCallEndedReason) {
      guard remove(call.id) != nil else { return }
      provider.reportCall(with: call.id, endedAt: nil, reason: reason)
    }
  }
#endif
