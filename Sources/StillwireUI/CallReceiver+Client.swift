// SPDX-License-Identifier: Apache-2.0
// Ends the ringing of a phone after the events of a client.
#if canImport(CallKit) && canImport(PushKit) && !os(macOS) && !os(tvOS)
  public import StillwireApple
  public import StillwireClient

  extension CallReceiver {
    /// Applies the calls' events of a client until the task is cancelled: the phone stops ringing when the call is
    /// answered or declined on another device, or is over. After each connect it reads the calls of the phone, because
    /// they may have changed before.
    /// - Parameter user: The user of this app.
    @MainActor public func follow(_ relay: Stillwire, user: UserID) async {
      let events = relay.events()
      // Fails without a connection, and does not end the ringing then.
      await reconcile(with: relay, user: user)
      for await event in events {
        switch event {
        case .frame(let frame): if let event = CallEvent(frame.members) { apply(event, user: user) }
        case .stateChanged(.open), .missed: await reconcile(with: relay, user: user)
        default: continue
        }
      }
    }

    @MainActor private func reconcile(with relay: Stillwire, user: UserID) async {
      await reconcile(user: user) { try await relay.room($0.room).call($0.seq) }
    }
  }
#endif
