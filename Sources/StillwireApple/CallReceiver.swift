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
      /// to ``AppGroup/register(_:token:voipToken:criteria:as:)``.
      case tokenChanged
      /// The phone rings.
      case ringing(IncomingCall)
      /// The person has accepted the call, and the relay has ended the ringing on the other devices. The app begins its
      /// audio or video.
      case answered(IncomingCall)
      /// The call is over on this phone: the person or another one has ended it, another device has answered, nobody has
      /// answered in time, the answer did not reach the relay, or the system does not show it. In a Focus, a notification
      /// "Missed call" shows that somebody has called.
      case ended(IncomingCall)
      /// The person begins a call from this phone, with the system or with the app's `CXCallController`. The app rings
      /// with ``StillwireClient/Room/ring(media:push:key:)``.
      case started(OutgoingCall)
      /// The person has ended a call that no push has begun. The app hangs up at the relay.
      case startedCallEnded(UUID)
      /// The person mutes the microphone for a call, or turns it on again. The id is that of CallKit: the id of an
      /// ``StillwireExtension/IncomingCall`` or of an ``OutgoingCall``.
      case muted(UUID, Bool)
      /// The person or the system puts a call on hold, or continues it. Only an app that supports this gets the event.
      case held(UUID, Bool)
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
    private let accounts: AccountStore?
    private let calls: Calls
    private let supportsHolding: Bool
    private let handle: @MainActor @Sendable (Event) -> Void

    /// Registers for VoIP pushes.
    /// - Parameters:
    ///   - configuration: The ringtone, the icon, and the support for video.
    ///   - supportsHolding: True if the app puts a call on hold after ``Event/held(_:_:)``.
    ///   - accounts: The accounts of the phone: ``AppGroup/accounts``. The report key of the called user answers, declines
    ///     and hangs up at the relay, and reads if a call still rings, also after the token has expired. If it is `nil`,
    ///     the app does that. The phone does not ring for a user who is not signed in.
    ///   - handle: Receives the events.
    @MainActor public init(
      _ configuration: CXProviderConfiguration = CXProviderConfiguration(), supportsHolding: Bool = false,
      accounts: AccountStore?, handle: @escaping @MainActor @Sendable (Event) -> Void
    ) {
      provider = CXProvider(configuration: configuration)
      // Without a queue, PushKit and CallKit call their delegates on the main queue.
      registry = PKPushRegistry(queue: nil)
      self.accounts = accounts
      calls = Calls(provider, accounts, handle)
      self.supportsHolding = supportsHolding
      self.handle = handle
      super.init()
      provider.setDelegate(self, queue: nil)
      registry.delegate = self
      registry.desiredPushTypes = [.voIP]
    }

    deinit { provider.invalidate() }

    /// The device's token for calls. Is `nil` until the system has issued one.
    public var token: Data? { registry.pushToken(for: .voIP) }

    /// Ends a call on this phone, for example because the caller has ended it. Passes no ``Event/ended(_:)``. Sends nothing
    /// to the relay, unless the relay has not replied to the answer yet: the receiver hangs up after this reply.
    @MainActor public func end(_ call: IncomingCall, reason: CXCallEndedReason = .remoteEnded) {
      calls.end(call, reason: reason)
    }

    /// Ends the ringing or the call on this phone if an event of the relay says so, and then passes
    /// ``Event/ended(_:)``. Call it with each event of the client: `follow(_:user:)` of `StillwireUI` does so.
    /// - Parameters:
    ///   - event: A change of a call.
    ///   - user: The user of this app.
    @MainActor public func apply(_ event: CallEvent, user: UserID) {
      calls.user = user
      for id in calls.all { calls.apply(.changed(event, user), to: id) }
    }

    /// Reads each call of this phone, and ends the ringing or the call as for an event. Call it after each connect of
    /// the client, because events of a call may be lost before: `follow(_:user:)` of `StillwireUI` does so.
    /// - Parameters:
    ///   - user: The user of this app.
    ///   - read: Reads a call at the relay, for example with `call(_:)` of the room.
    @MainActor public func reconcile(
      user: UserID, _ read: @escaping @Sendable (MessageReference) async throws -> CallRecord
    ) async {
      calls.user = user
      for id in calls.all { await calls.read(id, read) }
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
      receive(payload, mustReport: true, completion)
    }

    /// The system calls this method from iOS 26.4 on, in place of the one above.
    @available(iOS 26.4, visionOS 26.4, watchOS 26.4, *)
    public func pushRegistry(
      _ registry: PKPushRegistry, didReceiveIncomingVoIPPushWith payload: PKPushPayload, metadata: PKVoIPPushMetadata,
      withCompletionHandler completion: @escaping @Sendable () -> Void
    ) { receive(payload, mustReport: metadata.mustReport, completion) }

    private func receive(_ payload: PKPushPayload, mustReport: Bool, _ completion: @escaping @Sendable () -> Void) {
      let (now, instant) = (Date(), ContinuousClock.now)
      let incoming = IncomingCall(payload)
      let isHidden = accounts?.display(of: .relay(incoming?.payload.recipient)) == .hidden
      if let accounts, accounts.hasSignOuts { Task { await accounts.repeatSignOuts() } }
      let call = isHidden ? nil : incoming
      let calls = calls
      let isKnown = call.map { call in MainActor.assumeIsolated { calls.ids.contains(call.id) } } ?? false
      if let call, !isKnown { MainActor.assumeIsolated { calls.insert(call) } }
      let ringing = provider.reportCall(
        of: payload, mustReport: mustReport, isKnown: isKnown, isHidden: isHidden, now: now,
        supportsHolding: supportsHolding
      ) { [calls] error in
        guard let error, let call, !isKnown else { return completion() }
        let reason = PhoneCall.NotShown(error)
        // The system may suspend the app after the completion.
        Task { @MainActor in
          await calls.refuse(call.id, reason)
          completion()
        }
      }
      if let ringing {
        emit(.ringing(ringing))
        let end = instant + (ringing.ringing(at: now) ?? .zero)
        MainActor.assumeIsolated { calls.watch(ringing, until: end) }
      } else if let call, !isKnown {
        MainActor.assumeIsolated { calls.remove(call.id) }
      }
    }

    // MARK: CallKit

    public func providerDidReset(_ provider: CXProvider) {
      let calls = calls
      MainActor.assumeIsolated { for id in calls.ids { calls.apply(.discarded, to: id) } }
    }

    public func provider(_ provider: CXProvider, perform action: CXStartCallAction) {
      emit(
        .started(OutgoingCall(id: action.callUUID, handle: action.handle.value, hasVideo: action.isVideo)))
      action.fulfill()
    }

    public func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
      let (calls, id) = (calls, action.callUUID)
      guard MainActor.assumeIsolated({ calls.ids.contains(id) }) else { return action.fail() }
      action.fulfill()
      MainActor.assumeIsolated { calls.apply(.accepted, to: id) }
    }

    public func provider(_ provider: CXProvider, perform action: CXEndCallAction) {
      let (calls, id) = (calls, action.callUUID)
      action.fulfill()
      guard MainActor.assumeIsolated({ calls.ids.contains(id) }) else { return emit(.startedCallEnded(id)) }
      MainActor.assumeIsolated { calls.apply(.ended, to: id) }
    }

    public func provider(_ provider: CXProvider, perform action: CXSetMutedCallAction) {
      emit(.muted(action.callUUID, action.isMuted))
      action.fulfill()
    }

    public func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) {
      guard supportsHolding else { return action.fail() }
      emit(.held(action.callUUID, action.isOnHold))
      action.fulfill()
    }

    public func provider(_ provider: CXProvider, didActivate audioSession: AVAudioSession) { emit(.audioActivated) }

    public func provider(_ provider: CXProvider, didDeactivate audioSession: AVAudioSession) {
      emit(.audioDeactivated)
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
      case .failed: self = .failed
      }
    }
  }

  /// The calls of the phone, by the ids of CallKit. It performs the effects of ``StillwireExtension/PhoneCall``.
  @MainActor private final class Calls {
    private let provider: CXProvider
    private let accounts: AccountStore?
    private let handle: @MainActor @Sendable (CallReceiver.Event) -> Void
    private var calls: [UUID: PhoneCall] = [:]
    /// Shows the last notification about a call that CallKit has refused.
    private var notification: Task<Void, Never>?
    /// The user of the app. Is `nil` until `apply` or `reconcile` names it. A read then finds only calls that are over, and
    /// not those that another device of the user has answered.
    var user: UserID?

    init(
      _ provider: CXProvider, _ accounts: AccountStore?,
      _ handle: @escaping @MainActor @Sendable (CallReceiver.Event) -> Void
    ) {
      self.provider = provider
      self.accounts = accounts
      self.handle = handle
    }

    /// The calls that ring or are in progress.
    var ids: [UUID] { calls.filter { $0.value.isActive }.map(\.key) }

    /// The calls that an event may change: also those that the phone has not shown.
    var all: [UUID] { Array(calls.keys) }

    /// The requests with the report key of the called user.
    private func api(of call: IncomingCall) -> RelayAPI? { accounts?.api(of: call.payload.recipient) }

    func insert(_ call: IncomingCall) { calls[call.id] = PhoneCall(call) }

    func remove(_ id: UUID) { calls[id] = nil }

    /// Ends the ringing in time, and reads if the call still rings: it may have ended before its push arrived.
    func watch(_ call: IncomingCall, until end: ContinuousClock.Instant) {
      Task {
        try await Task.sleep(until: end, clock: .continuous)
        apply(.timedOut, to: call.id)
      }
      guard let api = api(of: call) else { return }
      Task { await read(call.id) { try await api.call($0) } }
    }

    func end(_ call: IncomingCall, reason: CXCallEndedReason) {
      guard calls[call.id]?.isActive == true else { return }
      apply(.dismissed, to: call.id)
      provider.reportCall(with: call.id, endedAt: nil, reason: reason)
    }

    /// Applies the error of CallKit, and returns after the notification about the call is shown.
    func refuse(_ id: UUID, _ reason: PhoneCall.NotShown) async {
      apply(.notShown(reason), to: id)
      await notification?.value
    }

    func apply(_ input: PhoneCall.Input, to id: UUID) {
      guard var call = calls[id] else { return }
      let effects = call.apply(input)
      calls[id] = call.phase == .over ? nil : call
      for effect in effects { perform(effect, call.call) }
    }

    private func perform(_ effect: PhoneCall.Effect, _ call: IncomingCall) {
      switch effect {
      case .report(let end): provider.reportCall(with: call.id, endedAt: nil, reason: CXCallEndedReason(end))
      case .begin: handle(.answered(call))
      case .finish: handle(.ended(call))
      case .send(.answer): answer(call)
      case .send(let action): send(action, call)
      case .read:
        guard let api = api(of: call) else { return apply(.readFailed(.unknown), to: call.id) }
        Task { await read(call.id) { try await api.call($0) } }
      case .showMissed: notification = Task { await call.showMissed() }
      case .removeMissed: call.removeMissed()
      }
    }

    func read(_ id: UUID, _ read: @Sendable (MessageReference) async throws -> CallRecord) async {
      guard let message = calls[id]?.call.payload.message else { return }
      do {
        apply(.read(try await read(message), user), to: id)
      } catch {
        apply(.readFailed(PhoneCall.ReadFailure(error)), to: id)
      }
    }

    private func answer(_ call: IncomingCall) {
      // Without an API the app itself answers.
      guard let api = api(of: call), let message = call.payload.message else {
        return apply(.replied(.accepted), to: call.id)
      }
      Task {
        do {
          try await api.answer(message)
          apply(.replied(.accepted), to: call.id)
        } catch {
          apply(.replied(PhoneCall.Reply(error)), to: call.id)
        }
      }
    }

    private func send(_ action: Call.Action, _ call: IncomingCall) {
      guard let api = api(of: call), let message = call.payload.message else { return }
      Task {
        for delay in PhoneCall.attempts {
          try await Task.sleep(for: delay)
          do {
            _ = try await action == .decline ? api.decline(message) : api.hangUp(message)
            return
          } catch {
            let isTemporary = (error as? StillwireError)?.isTemporary == true
            guard isTemporary || PhoneCall.Reply(error) == .lost else { return }
          }
        }
      }
    }
  }
#endif
