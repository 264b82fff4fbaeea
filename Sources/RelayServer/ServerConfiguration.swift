// SPDX-License-Identifier: Apache-2.0
public import Configuration
public import Logging
import RelayCommands
public import RelayDelivery
public import RelayGateways
public import RelayHub
public import RelayIdentity
public import RelayProtocol
import RelayPush
import RelayRequests
public import RelayStore

/// The values of all settings. ``SettingGroup`` declares the keys that set them.
public struct ServerConfiguration: Sendable {
  public var address = "127.0.0.1"
  public var port: UInt16 = 8080
  /// The folder of the database.
  public var dataFolder = "data"
  /// The folder of the page. Is `nil` for a relay without a page.
  public var webFolder: String?
  /// The keys and rules for tokens. Without keys, the relay trusts the user name that a client sends.
  public var identity = IdentitySettings()
  /// Allows open mode on an address that is not loopback.
  public var isOpenToNetwork = false
  /// The allowed values of `Origin`. If empty, only the relay's own origin is allowed.
  public var origins: [String] = []
  /// The names that `Host` of a request may have, in addition to addresses and `localhost`.
  public var hosts: [String] = []
  /// True if `/metrics` needs no API key.
  public var isMetricsOpen = false
  /// True if devices of the platform `simulator` are accepted. If `nil`, only open mode accepts them.
  public var takesSimulators: Bool?
  /// The time for which `/ready` answers 503 before draining starts. If `nil`, 0 on loopback and 5 s elsewhere.
  public var drainDelay: Duration?
  public var connections = ConnectionLimits()
  /// The folder of the system's time zone files.
  public var zoneFolder = "/usr/share/zoneinfo"
  /// The maximum number of open streams of server-sent events of an API key. 0 means no limit.
  public var streamsPerKey = 16
  /// The settings of the audit log.
  var audit = AuditPolicy()
  /// The durability of a commit.
  public var synchronous = Synchronous.standard
  public var logLevel = Logger.Level.info
  public var limits = Limits()
  /// The pace of notifications from one user to another.
  public var pace = PushPace.Limits()
  /// The policies of rooms, with the patterns for the rooms' names.
  var rooms = RoomPatterns()
  /// The people whom a user only invites.
  public var invitations = InvitationPolicy.unknown
  /// The apps that devices may register with. If empty, any app.
  var apps = Apps()
  /// The relay's own texts in pushes, by language.
  var pushTexts = PushTextTable()
  /// The connections to Apple's push service.
  public var apple = AppleService()
  /// The settings of pushes to browsers.
  var webPush = WebPushSettings()
  /// The cluster that the relay belongs to.
  public var cluster = ClusterSettings()
  /// The time for which a user is still shown as online, without pushes, after their last session ended without a
  /// close.
  public var presenceGrace = Duration.seconds(10)
  /// The time that clients may need to reconnect after a start, in addition to the grace. Until then, users who were
  /// online before are shown as online.
  public var presenceReconnect = Duration.seconds(20)

  public init() {}

  /// Parses and checks every key of ``Setting/all``. Throws ``StartupError`` with the name of the key.
  /// - Parameter file: The source of lists of objects.
  public init(_ config: ConfigReader, file: ConfigurationFile? = nil) throws(StartupError) {
    try self.init(config, file: file, settings: Setting.all)
  }

  /// Parses and checks only some keys, for a command that does not need the others.
  package init(_ config: ConfigReader, file: ConfigurationFile?, settings: [Setting]) throws(StartupError) {
    for setting in settings { try setting.apply(config, file, to: &self) }
  }

  /// Restores the values that cannot change without a restart from `running`. Returns the keys whose values differed.
  mutating func keep(fixedOf running: ServerConfiguration) -> [String] {
    var changed = Setting.all.filter { $0.restore(from: running, in: &self) }.map(\.key)
    // Open mode and tokens differ in the allowed addresses and the accepted `Host` names, which are fixed at the start.
    if identity.isOpen != running.identity.isOpen {
      identity = running.identity
      changed.append("tokens")
    }
    return changed
  }
}

extension ServerConfiguration {
  /// The configuration of the hub.
  func hub(isStandby: Bool = false, logsDebug: Bool) -> HubConfiguration {
    var hub = HubConfiguration(
      address: address, port: port, origins: origins, requests: Commands.frames, hostRule: hostRule, hosts: hosts,
      limits: limits, grace: presenceGrace, connections: connections, logsDebug: logsDebug)
    hub.isStandby = isStandby
    return hub
  }

  /// The values of `Host` that the relay accepts. In open mode the rule protects against DNS rebinding, with which a
  /// page of any site could use the relay. Tokens prevent this attack, so with tokens any `Host` is accepted unless
  /// ``hosts`` has names.
  var hostRule: HostRule {
    guard identity.isOpen else { return hosts.isEmpty ? .any : .addresses }
    return isOpenToNetwork ? .addresses : .loopback
  }
}
