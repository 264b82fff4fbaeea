// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension Stillwire {
  /// The configuration of a client.
  public struct Configuration: Sendable {
    /// The relay, or all nodes of a cluster. The client finds the leader, and connects to no other address.
    public var addresses: [RelayAddress]
    /// The stable name of this installation. Focus reports and pushes use it.
    public var device: DeviceID?
    /// The name of the app, if a user can have several apps of this relay.
    public var app: String?
    /// The events of the list of rooms: ``Event/frame(_:)`` of type `inbox`. Is `nil` for none. After a reconnect the
    /// client continues without a gap.
    public var inbox: Inbox?
    /// Timeout of a reply: the time since the request without any frame of the relay, except `pong`.
    public var timeout = Duration.seconds(15)
    /// Maximum number of messages that wait to be sent, in all rooms together. One more fails with `full`.
    public var outbox = 100
    /// Maximum size in bytes of a WebSocket message from the relay. A page of history can have 256 KiB of bodies.
    public var maxMessageSize = 16 << 20
    /// Returns the app's identity. The client calls it at each attempt to connect, and before a token expires. The
    /// argument is true if the last token has expired or will soon expire.
    ///
    /// If it throws, or returns a token without three parts, the client calls it again with backoff. If this happens when
    /// the client needs a newer token, the session continues, at most until the last token expires.
    public var identity: @Sendable (_ isExpired: Bool) async throws -> Identity
    /// The clock for all timeouts and delays.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// The source of jitter, 0 to 1.
    public var random: @Sendable () -> Double = { .random(in: 0...1) }

    /// The options of the events of the list of rooms.
    public struct Inbox: Equatable, Sendable {
      /// The ``RoomPage/position`` up to which the app has all changes. Is `nil` for events from now on.
      public var since: String?
      /// False if the events need no texts of messages.
      public var hasPreview: Bool

      public init(since: String? = nil, hasPreview: Bool = true) {
        self.since = since
        self.hasPreview = hasPreview
      }
    }

    public init(
      _ address: RelayAddress, device: DeviceID? = nil, identity: @escaping @Sendable (Bool) async throws -> Identity
    ) {
      self.init([address], device: device, identity: identity)
    }

    /// - Parameter addresses: At least one address.
    public init(
      _ addresses: [RelayAddress], device: DeviceID? = nil,
      identity: @escaping @Sendable (Bool) async throws -> Identity
    ) {
      precondition(!addresses.isEmpty, "a client needs an address")
      self.addresses = addresses
      self.device = device
      self.identity = identity
    }
  }
}
