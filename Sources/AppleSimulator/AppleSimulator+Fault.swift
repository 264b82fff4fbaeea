// SPDX-License-Identifier: Apache-2.0
// Scripted faults, and the random numbers that select the requests that they affect.

extension AppleSimulator {
  /// A fault to inject into requests that have a valid path and a valid provider token.
  public struct Fault: Equatable, Sendable {
    public enum Action: Equatable, Sendable {
      case answer(Refusal)
      /// No answer. The stream stays open.
      case hang
      /// RST_STREAM with an error code of RFC 9113, section 7.
      case resetStream(code: Int)
      /// The connection ends without a GOAWAY.
      case resetConnection
      /// GOAWAY, as if the service had not processed this request and the later ones.
      case goAway
    }

    public var action: Action
    /// The device tokens in lower case. Empty: all devices.
    public var tokens: Set<String>
    /// The share of the matching requests that the fault affects, from 0 to 1.
    public var share: Double
    /// The number of times that the fault still occurs. Is `nil` for no limit.
    public var times: Int?

    public init(_ action: Action, tokens: Set<String> = [], share: Double = 1, times: Int? = nil) {
      self.action = action
      self.tokens = tokens
      self.share = share
      self.times = times
    }
  }

  /// The scripted faults, in order. The first fault that applies to a request is used.
  struct FaultScript: Sendable {
    static let maxFaults = 1000

    private(set) var faults: [Fault] = []
    private var dice = Dice(seed: 1)

    mutating func replace(by faults: [Fault]) { self.faults = faults }

    mutating func strike(_ token: String) -> Fault.Action? {
      for index in faults.indices {
        let fault = faults[index]
        guard fault.times != 0, fault.tokens.isEmpty || fault.tokens.contains(token) else { continue }
        guard fault.share >= 1 || Double.random(in: 0..<1, using: &dice) < fault.share else { continue }
        if let times = fault.times { faults[index].times = times - 1 }
        return fault.action
      }
      return nil
    }
  }

  /// The random number generator SplitMix64. With a fixed seed, the same script makes the same faults.
  struct Dice: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
      return mixed ^ mixed >> 31
    }
  }
}
