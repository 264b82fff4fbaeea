// SPDX-License-Identifier: Apache-2.0
public import Configuration
public import Logging
import RelayCore
public import RelayGateways
public import RelayHub
public import RelayIdentity
public import RelayProtocol
import RelayPush
public import RelayStore

/// What an operator can set. Keys are those of the configuration: `limits.sendRate` is `--limits-send-rate`,
/// `STILLWIRE_LIMITS_SEND_RATE`, and in the file {"limits": {"sendRate": …}}, where ``ConfigurationKey`` lists it.
public struct ServerConfiguration: Sendable {
  public var address = "127.0.0.1"
  public var port: UInt16 = 8080
  /// Where the database lives.
  public var dataFolder = "data"
  /// Where the page lives; nil: no page.
  public var webFolder: String?
  /// The keys and rules for tokens. With nothing set, the relay trusts the user name that a client sends.
  public var identity = IdentitySettings()
  /// Allows open mode on an address that is not loopback.
  public var isOpenToNetwork = false
  /// Allowed values of `Origin`; empty: the server's own.
  public var origins: [String] = []
  /// Names of the relay that `Host` of a request may have, beside addresses and `localhost`.
  public var hosts: [String] = []
  /// Lets everybody read `/metrics`; otherwise that takes an API key.
  public var isMetricsOpen = false
  /// Accepts devices of the platform `simulator`. Is `nil` when it is not set: then open mode alone accepts them.
  public var takesSimulators: Bool?
  /// For how long `/ready` says no before sessions are refused and closed; nil: 0 on loopback, else 5 s.
  public var drainDelay: Duration?
  public var connections = ConnectionLimits()
  /// When a commit counts as done.
  public var synchronous = Synchronous.full
  public var logLevel = Logger.Level.info
  public var limits = Limits()
  /// What rooms do, by their names.
  var rooms = RoomPatterns()
  /// The apps that devices may belong to; none: any.
  var apps = Apps()
  /// The relay's own texts of pushes, by language.
  var pushTexts = PushTextTable()
  /// How Apple's service is reached.
  public var apple = AppleService()
  /// How browsers are pushed to.
  var webPush = WebPushSettings()
  /// For how long a user whose session ended without a close is still shown as online, and not pushed to.
  public var presenceGrace = Duration.seconds(10)

  public init() {}

  /// Reads what is set and checks it. Throws ``StartupError`` that names the key.
  /// - Parameter file: Where lists come from, which no option can hold.
  public init(_ config: ConfigReader, file: ConfigurationFile? = nil) throws(StartupError) {
    if let value = config.string(forKey: "address") { address = value }
    if let value = try config.number("port", 0...65_535, isWhole: true) { port = UInt16(value) }
    if let value = config.string(forKey: "data") { dataFolder = value }
    if let value = config.string(forKey: "web") { webFolder = value }
    identity = try IdentitySettings(config, file: file)
    if let value = try config.flag("openToNetwork") { isOpenToNetwork = value }
    if let value = try config.flag("metrics.open") { isMetricsOpen = value }
    if let value = config.string(forKey: "hosts") {
      hosts = value.split(separator: " ").map(String.init)
      for host in hosts where !Self.isHostName(host) {
        throw StartupError("hosts: \(host) is not a host name, such as relay.example.org; a port is not part of it")
      }
    }
    takesSimulators = try config.flag("simulatedPhones")
    if let value = config.string(forKey: "origins") { origins = value.split(separator: " ").map(String.init) }
    if let value = config.string(forKey: "logLevel") {
      guard let level = Logger.Level(rawValue: value) else {
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw StartupError("logLevel must be one of \(levels), not \(value)")
      }
      logLevel = level
    }
    if let value = config.string(forKey: "store.synchronous") {
      guard let known = Synchronous(rawValue: value) else {
        throw StartupError("store.synchronous must be full or normal, not \(value)")
      }
      synchronous = known
    }
    if let value = try config.number("presence.grace", 0...3_600, isWhole: false) {
      presenceGrace = .milliseconds(Int64(value * 1000))
    }
    if let value = try config.number("drain.delay", 0...3_600, isWhole: false) {
      drainDelay = .milliseconds(Int64(value * 1000))
    }
    if let value = try config.number("connections.most", 1...1_000_000, isWhole: true) {
      let possible = ConnectionLimits.possible
      guard Int(value) <= possible else {
        throw StartupError(
          "connections.most is \(Int(value)), but the limit of open files leaves room for \(possible): raise ulimit -n")
      }
      connections.most = Int(value)
    }
    if let value = try config.number("connections.perAddress", 0...1_000_000, isWhole: true) {
      connections.perAddress = Int(value)
    }
    if let value = try config.number("connections.requestsPerUser", 0...1_000_000, isWhole: true) {
      connections.requestsPerUser = Int(value)
    }
    if let value = try config.number("connections.unsentPerUser", 0...1_099_511_627_776, isWhole: true) {
      connections.unsentPerUser = Int(value)
    }
    if let value = try config.number("connections.unsent", 0...1_099_511_627_776, isWhole: true) {
      connections.unsent = Int(value)
    }
    if let value = config.string(forKey: "trustedProxies") {
      connections.trustedProxies = value.split(separator: " ").map(String.init)
      for network in connections.trustedProxies where !ConnectionLimits.isNetwork(network) {
        throw StartupError("trustedProxies: \(network) is no address or network like 10.0.0.0/8")
      }
    }
    do {
      if let list = file?.lists["rooms"] { rooms = try RoomPatterns(list) }
    } catch {
      throw file?.failure(error) ?? StartupError(error.message)
    }
    do {
      if let list = file?.lists["apps"] { apps = try Apps(list) }
    } catch {
      throw file?.failure(error) ?? StartupError(error.message)
    }
    do {
      if let list = file?.lists["texts"] { pushTexts = try PushTextTable(list) }
    } catch {
      throw file?.failure(error) ?? StartupError(error.message)
    }
    apple = try AppleService(config)
    webPush = try WebPushSettings(config)
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

extension ServerConfiguration {
  /// The values of `Host` that are answered. In open mode a page of any site could otherwise reach the relay by DNS
  /// rebinding. Tokens prevent that: then any `Host` is answered, unless names are listed.
  var hostRule: HostRule {
    guard identity.isOpen else { return hosts.isEmpty ? .any : .addresses }
    return isOpenToNetwork ? .addresses : .loopback
  }

  private static func isHostName(_ text: String) -> Bool {
    (1...253).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".") || (48...57).contains($0)
          || (65...90).contains($0) || (97...122).contains($0)
      }
  }
}

extension AppleService {
  fileprivate init(_ config: ConfigReader) throws(StartupError) {
    self.init()
    host = config.string(forKey: "apple.host")
    if let value = try config.number("apple.port", 1...65_535, isWhole: true) { port = UInt16(value) }
    caFile = config.string(forKey: "apple.caFile")
    if let value = try config.number("apple.connections", 1...64, isWhole: true) { connections = Int(value) }
  }
}

extension ConfigReader {
  func flag(_ key: String) throws(StartupError) -> Bool? {
    guard let text = string(forKey: ConfigKey(key)) else { return nil }
    guard let flag = Bool(text) else { throw StartupError("\(key) must be true or false, not \(text)") }
    return flag
  }

  /// A number as it was spelled, so that a wrong one is an error and not the default.
  func number(
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
