// SPDX-License-Identifier: Apache-2.0
// Ends the ringing of a phone after the events of a client.
#if canImport(CallKit) && canImport(PushKit) && !os(macOS) && !os(tvOS)
  public import StillwireApple
  public import StillwireClient

  extension CallReceiver {
    /// Applies the calls' events of a client until the task is cancelled: the phone stops ringing when the call is
    /// answered or declined on another device, or is over.
    /// - Parameter user: The user of this app.
    @MainActor public func follow(_ relay: Stillwire, user: UserID) async {
      for await case .frame(let frame) in relay.events() {
        if let event = CallEvent(frame.members) { apply(event, user: user) }
      }
    }
  }
#endif
