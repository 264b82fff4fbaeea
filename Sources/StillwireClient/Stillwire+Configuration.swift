// SPDX-License-Identifier: Apache-2.0
public import RelayProtocol

extension Stillwire {
  /// What a client is made with.
  public struct Configuration: Sendable {
    public var address: RelayAddress
    /// The stable name of this installation: of its reports of a Focus, and of its pushes.
    public var device: DeviceID?
    /// The app, where one user has several.
    public var app: String?
    /// How long a reply may take.
    public var timeout = Duration.seconds(15)
    /// How many messages may wait to be sent, in all rooms together; one more fails.
    public var outbox = 100
    /// Bytes of a message of the relay's at most. A page of history can have 256 KiB of bodies.
    public var largestMessage = 16 << 20
    /// Asked at each attempt to connect, and for a newer token before one expires; it is told whether the last one has
    /// expired or is about to. Throwing is a failed attempt to connect, after which the client comes back; of a newer token
    /// it leaves the session to the end of the last one.
    public var identity: @Sendable (_ isExpired: Bool) async throws -> Identity
    /// What times are measured with.
    public var clock: any Clock<Duration> = ContinuousClock()
    /// The source of jitter, 0 to 1.
    public var random: @Sendable () -> Double = { .random(in: 0...1) }

    public init(
      _ address: RelayAddress, device: DeviceID? = nil, identity: @escaping @Sendable (Bool) async throws -> Identity
    ) {
      self.address = address
      self.device = device
      self.identity = identity
    }
  }
}
