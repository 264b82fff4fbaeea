// SPDX-License-Identifier: Apache-2.0
import RelayProtocol

/// `{"kind":"none","reason":…}`, `{"kind":"wait","until":…}`, `{"kind":"hold","until":…}` or
/// `{"kind":"push","level":…}`.
extension Decision.Outcome: Codable {
  private enum Kind: String, Codable {
    case none, wait, hold, push
  }

  private enum Key: String, CodingKey {
    case kind, reason, until, level
  }

  public init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    self =
      switch try object.decode(Kind.self, forKey: .kind) {
      case .none: .none(try object.decode(Reason.Code.self, forKey: .reason))
      case .wait: .wait(until: try object.decode(Timestamp.self, forKey: .until))
      case .hold: .hold(until: try object.decode(Timestamp.self, forKey: .until))
      case .push: .push(try object.decode(Level.self, forKey: .level))
      }
  }

  public func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    switch self {
    case .none(let reason):
      try object.encode(Kind.none, forKey: .kind)
      try object.encode(reason, forKey: .reason)
    case .wait(let until):
      try object.encode(Kind.wait, forKey: .kind)
      try object.encode(until, forKey: .until)
    case .hold(let until):
      try object.encode(Kind.hold, forKey: .kind)
      try object.encode(until, forKey: .until)
    case .push(let level):
      try object.encode(Kind.push, forKey: .kind)
      try object.encode(level, forKey: .level)
    }
  }
}
