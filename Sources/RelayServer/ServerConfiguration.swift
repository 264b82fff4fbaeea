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

/// The values of all settings. ``SettingGroup`` declares the keys that set them.
public struct ServerConfiguration: Sendable {
  public var address = "127.0.0.1"
  public var port: UInt16 = 8080
  /// The folder of the database.
  public var dataFolder = "data"
  /// The folder of the page. Is `nil` for a relay without a page.
  public var webFolder: String?
  /// The keys and rules for tokens. With nothing set, the relay trusts the user name that a client sends.
  public var identity = IdentitySettings()
  /// Allows open mode on an address that is not loopback.
  public var isOpenToNetwork = false
  /// Allowed values of `Origin`. If empty, only the relay's own origin.
  public var origins: [String] = []
  /// Names of the relay that `Host` of a request may have, beside addresses and `localhost`.
  public var hosts: [String] = []
  /// Lets everybody read `/metrics`; otherwise that takes an API key.
  public var isMetricsOpen = false
  /// Accepts devices of the platform `simulator`. Is `nil` when it is not set: then open mode alone accepts them.
  public var takesSimulators: Bool?
  /// The time for which `/ready` answers 503 before the relay refuses and closes sessions. If `nil`, 0 on loopback and
  /// 5 s elsewhere.
  public var drainDelay: Duration?
  public var connections = ConnectionLimits()
  /// When a commit counts as done.
  public var synchronous = Synchronous.full
  public var logLevel = Logger.Level.info
  public var limits = Limits()
  /// The policies of rooms, by patterns of their names.
  var rooms = RoomPatterns()
  /// The apps that devices may belong to. If empty, any app.
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

  /// Parses and checks every key of ``Setting/all``. Throws ``StartupError`` that names the key.
  /// - Parameter file: The source of lists of objects.
  public init(_ config: ConfigReader, file: ConfigurationFile? = nil) throws(StartupError) {
    for setting in Setting.all { try setting.apply(config, file, to: &self) }
  }

  /// Takes from `running` the values that cannot change while a server runs. Returns the keys that would have changed.
  mutating func keep(fixedOf running: ServerConfiguration) -> [String] {
    var changed = Setting.all.filter { $0.restore(from: running, in: &self) }.map(\.key)
    // Open mode and tokens differ in the addresses and the names that the relay answers.
    if identity.isOpen != running.identity.isOpen {
      identity = running.identity
      changed.append("tokens")
    }
    return changed
  }
}

extension ServerConfiguration {
  /// The values of `Host` that are answered. In open mode a page of any site could otherwise reach the relay by DNS
  /// rebinding. Tokens prevent that: then any `Host` is answered, unless names are listed.
  var hostRule: HostRule {
    guard identity.isOpen else { return hosts.isEmpty ? .any : .addresses }
    return isOpenToNetwork ? .addresses : .loopback
  }
}
