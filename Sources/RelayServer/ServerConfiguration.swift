// SPDX-License-Identifier: Apache-2.0
public import Configuration
public import Logging
public import RelayProtocol

/// What an operator can set. Keys are those of the configuration: `limits.sendRate` is `--limits-send-rate` and
/// `STILLWIRE_LIMITS_SEND_RATE`.
public struct ServerConfiguration: Sendable {
  public var address = "127.0.0.1"
  public var port: UInt16 = 8080
  /// Where the database lives.
  public var dataFolder = "data"
  /// Where the page lives; nil: no page.
  public var webFolder: String?
  /// A shared secret for tokens; nil: open mode.
  public var secretFile: String?
  /// Allows open mode on an address that is not loopback.
  public var isOpenToNetwork = false
  /// Allowed values of `Origin`; empty: the server's own.
  public var origins: [String] = []
  public var logLevel = Logger.Level.info
  public var limits = Limits()
  /// For how long a user whose session ended without a close is still shown as online, and not pushed to.
  public var presenceGrace = Duration.seconds(10)

  public init() {}

  /// Reads what is set and checks it. Throws ``StartupError`` that names the key.
  public init(_ config: ConfigReader) throws(StartupError) {
    if let value = config.string(forKey: "address") { address = value }
    if let value = try config.number("port", 0...65_535, isWhole: true) { port = UInt16(value) }
    if let value = config.string(forKey: "data") { dataFolder = value }
    if let value = config.string(forKey: "web") { webFolder = value }
    secretFile = config.string(forKey: "secretFile")
    if let value = config.string(forKey: "openToNetwork") {
      guard let flag = Bool(value) else { throw StartupError("openToNetwork must be true or false, not \(value)") }
      isOpenToNetwork = flag
    }
    if let value = config.string(forKey: "origins") { origins = value.split(separator: " ").map(String.init) }
    if let value = config.string(forKey: "logLevel") {
      guard let level = Logger.Level(rawValue: value) else {
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw StartupError("logLevel must be one of \(levels), not \(value)")
      }
      logLevel = level
    }
    if let value = try config.number("presence.grace", 0...3_600, isWhole: false) {
      presenceGrace = .milliseconds(Int64(value * 1000))
    }
    for entry in Limits.entries {
      guard let value = try config.number("limits.\(entry.name)", nil, isWhole: entry.isWhole) else { continue }
      do {
        try limits.set(entry, to: value)
      } catch {
        throw StartupError("\(error)")
      }
    }
  }
}

extension ConfigReader {
  /// A number as it was spelled, so that a wrong one is an error and not the default.
  fileprivate func number(
    _ key: String, _ allowed: ClosedRange<Double>?, isWhole: Bool
  ) throws(StartupError) -> Double? {
    guard let text = string(forKey: ConfigKey(key)) else { return nil }
    let range = allowed.map { " from \(Int($0.lowerBound)) to \(Int($0.upperBound))" } ?? ""
    guard let value = Double(text), value.isFinite, allowed?.contains(value) ?? true,
      !isWhole || value == value.rounded()
    else {
      throw StartupError("\(key) must be a \(isWhole ? "whole number" : "number")\(range), not \(text)")
    }
    return value
  }
}
