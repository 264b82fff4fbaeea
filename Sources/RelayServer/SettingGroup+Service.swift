// SPDX-License-Identifier: Apache-2.0
import Logging
import RelayCommands
import RelayDelivery
import RelayHub
import RelayIdentity
import RelayProtocol
import RelayRequests
import RelayStore

// Declares the keys of the service itself: addresses, tokens, connections, operation and limits.

/// The settings of the service itself.
extension SettingGroup {
  package static let common = SettingGroup(
    "Common options",
    [
      Setting("port", .whole(0...65_535), \.port, needsRestart: true, "Port to listen on. 0 selects any free port."),
      Setting("data", .folder, \.dataFolder, needsRestart: true, "Folder of the database."),
      Setting(
        "tokens.secretFile", alias: "secretFile", .file, \.identity.secretFile,
        "File with a shared secret for tokens (HS256). With a secret, clients need tokens."),
      Setting("address", .text, \.address, needsRestart: true, "Address to listen on."),
      Setting("web", .folder, \.webFolder, default: "no page", needsRestart: true, "Folder of the web page."),
      Setting(
        "origins", .texts.checked(Origins.check), \.origins, default: "the relay's own", needsRestart: true,
        "Origins of the web pages that may use the relay. The list replaces the relay's own origin. A relay that serves "
          + "a page needs that origin in the list, too."),
      Setting(fileNamedBy: "config", "Configuration file, JSON."),
      Setting("logLevel", .choice, \.logLevel, needsRestart: true, "Minimum level of log lines."),
    ])

  package static let identity = SettingGroup(
    "Tokens and keys",
    note: """
      Without a file and without a key, the relay is in open mode. A reload reads the files of these keys and of
      `tokens.secretFile` again. A change between open mode and tokens needs a restart.
      """,
    [
      Setting(
        "tokens.keys",
        .objects(
          [
            SettingMember("algorithm", .choice(TokenAlgorithm.self), default: "required", "Algorithm of the key."),
            SettingMember("kid", .text, "Id of the key in tokens."),
            SettingMember(
              "file", .file, default: "required",
              "File with the secret for HS256, or with the public key as PEM for the other algorithms."),
          ],
          parse: { text, _ throws(StartupError) in
            var keys: [TokenKeySource] = []
            for item in text.split(separator: " ") { keys.append(try TokenKeySource(String(item))) }
            return keys
          },
          { list throws(RequestError) in
            var keys: [TokenKeySource] = []
            for fields in list { keys.append(try TokenKeySource(fields)) }
            return keys
          }), \.identity.keys,
        "Keys that verify tokens. In the option, each key is ALGORITHM:KID:FILE. FILE has a secret for HS256, and a "
          + "public key as PEM for ES256, RS256 and EdDSA (or Ed25519). KID may be empty."),
      Setting(
        "tokens.jwksFile", .file, \.identity.keySetFile,
        "File with a JWK Set. The relay reads it again when it changes."),
      Setting(
        "tokens.audience", .text, \.identity.policy.audience, "Audience that the claim `aud` of a token must contain."),
      Setting("tokens.issuer", .text, \.identity.policy.issuer, "Required value of the claim `iss` of a token."),
      Setting(
        "tokens.requireExpiry", .flag, \.identity.policy.requiresExpiry, "Reject tokens without the claim `exp`."),
      Setting(
        "tokens.maxLifetime", .seconds(60...3_153_600_000, isWhole: true), \.identity.policy.maxLifetime,
        "Maximum time from now to `exp` of a token. The relay rejects tokens with a later `exp`."),
      Setting(
        "tokens.grace", .seconds(0...86_400), \.identity.grace,
        "Time for which a session stays open after its token has expired."),
      Setting(
        "apiKeysFile", .file, \.identity.apiKeysFile, "File with the keys of backends. See `stillwire api-key`."),
      Setting(
        "apiKeyScopes",
        .objects(scopeMembers) { list throws(RequestError) in
          try KeyScopes(list, operations: Operation.names, groups: Operation.scopeGroups)
        }, \.identity.scopes,
        "Scopes that the file of API keys names. A key without a scope has all rights and no rate limit. Needs "
          + "`apiKeysFile`."),
    ])

  private static let scopeMembers = [
    SettingMember("scope", .text, default: "required", "Name of the scope."),
    SettingMember(
      "operations", .texts, default: "all",
      "Operations that a key may request: names of `openapi.json`, such as `sendMessage`; `read` for all operations "
        + "that change nothing; `lists` for `listAllRooms`, `listUsers`, `listAllSessions` and `listPushes`; and "
        + "`write` for all operations that change something. None of them includes `listAuditEntries`."),
    SettingMember(
      "rooms", .texts, default: "all", "Patterns of the rooms that a request may name. `*` matches any text."),
    SettingMember(
      "users", .texts, default: "all",
      "Patterns of the users that a request may name or act for. `*` matches any text."),
    SettingMember(
      "rate", .number(KeyRate.rates, isWhole: false, .perSecond), default: "no limit",
      "Rate of the requests of each key with this scope. The relay answers further requests with 429."),
    SettingMember(
      "burst", .number(Double(KeyRate.bursts.lowerBound)...Double(KeyRate.bursts.upperBound)),
      default: "the requests of one second", "Maximum number of requests of a key at once."),
  ]

  package static let network = SettingGroup(
    "Network",
    [
      Setting(
        "openToNetwork", .flag, \.isOpenToNetwork, needsRestart: true,
        "Allow open mode (no keys: every client is trusted) on an address that other machines can reach."),
      Setting(
        "hosts", .list(of: "a host name, such as relay.example.org; a port is not part of it", hostName, text: { $0 }),
        \.hosts, needsRestart: true,
        "Names that the header `Host` of a request may contain, in addition to localhost and IP addresses. With "
          + "tokens, an empty list allows all names."),
      Setting(
        "trustedProxies",
        .list(of: networkNoun, { ConnectionLimits.isNetwork($0) ? $0 : nil }, text: { $0 }),
        \.connections.trustedProxies,
        needsRestart: true, "Networks of proxies. The relay takes the client's address from their `X-Forwarded-For`."),
      Setting(
        "connections.most", .whole(1...1_000_000).checked(againstOpenFiles), \.connections.max,
        default: "the limit of open files", needsRestart: true,
        "Maximum number of connections. The relay answers further connections with 503."),
      Setting(
        "connections.perAddress", .whole(0...1_000_000), \.connections.perAddress, needsRestart: true,
        "Maximum number of connections from an IPv4 address or an IPv6 /64. The relay answers further connections with "
          + "429. 0 means no limit."),
      Setting(
        "connections.idleTimeout", .seconds(1...3_600), \.connections.idleTimeout, needsRestart: true,
        "Time after which the relay closes an HTTP connection that waits for its next request. A proxy must close its "
          + "idle connections earlier: otherwise it may answer a request with 502."),
      Setting(
        "presence.grace", .seconds(0...3_600), \.presenceGrace,
        "Time for which a user is still shown as online after the connection is lost."),
      Setting(
        "presence.reconnect", .seconds(0...3_600), \.presenceReconnect, needsRestart: true,
        "Maximum pause between two attempts of a client to reconnect. After a start, users who were online before are "
          + "shown as online for this time and `presence.grace`."),
    ])

  /// The limits of HTTP requests.
  static let requests = SettingGroup(
    "HTTP requests",
    note: """
      These keys limit the HTTP requests in progress and the memory that they use. They protect the relay from clients
      that do not read the answers. 0 means no limit.
      """, hasOptions: false,
    [
      Setting(
        "connections.requestsPerUser", .whole(0...1_000_000), \.connections.requestsPerUser, needsRestart: true,
        "Maximum number of requests in progress of a user. The relay answers further requests with 429."),
      Setting(
        "connections.unsentPerUser", .whole(0...1_099_511_627_776, .bytes), \.connections.unsentPerUser,
        needsRestart: true,
        "Maximum size of the bodies and unread answers of a user's requests. Above it, the relay answers with 429."),
      Setting(
        "connections.unsent", .whole(0...1_099_511_627_776, .bytes), \.connections.unsent, needsRestart: true,
        "Maximum size of the bodies and unread answers of all requests, including those with API keys. Above it, the "
          + "relay answers with 503."),
      Setting(
        "connections.streamsPerKey", .whole(0...10_000), \.streamsPerKey,
        "Maximum number of open streams of server-sent events of an API key. The relay answers further requests for "
          + "streams with 429."),
    ])

  package static let operation = SettingGroup(
    "Operation",
    [
      Setting(
        "store.synchronous", .choice, \.synchronous, needsRestart: true,
        "Durability of an acknowledged message. With `full` it survives a loss of power. With `normal` it survives a "
          + "crash of the relay, but a loss of power can delete the newest messages. No effect on a node of a cluster."),
      Setting(
        "zoneFolder", .folder, \.zoneFolder,
        "Folder of the system's time zone files, which the package tzdata installs. A reload reads all files again. "
          + "Without zone files, quiet hours use the rules of the Swift toolchain, and the relay logs a warning."),
      Setting(
        "simulatedPhones", .flag, \.takesSimulators, default: "true in open mode, else false",
        "Accept devices of the platform `simulator`."),
      Setting(
        "metrics.open", .flag, \.isMetricsOpen,
        "Serve `/metrics` and the details of `/ready` without an API key."),
      Setting(
        "drain.delay", .seconds(0...3_600), \.drainDelay,
        default: "0 on loopback, else \(Server.defaultDrainDelay.seconds.short)", needsRestart: true,
        "Time for which `/ready` answers 503 before draining starts."),
    ])

  package static let audit = SettingGroup(
    "Audit log",
    note: """
      The relay records the actions of backends with API keys. [Audit
      log](../Sources/RelayProtocol/RelayProtocol.docc/Protocol.md#audit-log) describes the entries, and lists the
      frequent changes.
      """,
    [
      Setting(
        "audit.entries", .whole(0...100_000_000), \.audit.maxEntries,
        "Maximum number of entries. A new one replaces the oldest. With 0, the relay records nothing, and deletes the "
          + "entries that it has."),
      Setting(
        "audit.retention", .seconds(1...3_153_600_000), \.audit.retention,
        "Time for which the relay keeps an entry."),
      Setting(
        "audit.operations",
        .list(
          of: "an operation of openapi.json, read, or write",
          { Operation.names.contains($0) || Operation.groups[$0] != nil ? $0 : nil }, text: { $0 }),
        \.audit.operations, default: "all changes that are not frequent, and `exportUser`",
        "Operations whose requests become entries, also failed ones: names of `openapi.json`, such as `sendMessage`; `read` "
          + "for all operations that change nothing; and `write` for all others."),
    ])

  package static let limits = SettingGroup(
    "Limits", note: "0 means no limit, if the range of the limit begins at 0.", Limits.entries.map { Setting($0) })

  package static let pace = SettingGroup(
    "Pace of notifications",
    note: """
      These keys limit how often one user notifies another, in all rooms together. They count by the name of the sender,
      also for messages that a backend sends. 0 means no limit.
      """,
    [
      Setting(
        "pace.messages", .whole(0...10_000), \.pace.messages,
        "Maximum number of pushes of messages a minute. Further messages wait for the end of the minute, and become one "
          + "push."),
      Setting(
        "pace.critical", .whole(0...10_000), \.pace.critical,
        "Maximum number of alerts at the level `critical` a minute. Further ones have the level `timeSensitive`."),
      Setting(
        "pace.calls", .whole(0...10_000), \.pace.calls,
        "Maximum number of calls a minute. Further ones do not ring, and if nobody can be called, the relay refuses "
          + "them with 429."),
    ])

  static let networkNoun = "an address or a network, such as 10.0.0.0/8"

  @Sendable private static func hostName(_ text: String) -> String? {
    (1...253).contains(text.utf8.count) && text.utf8.allSatisfy(\.isInHostName) ? text : nil
  }

  @Sendable private static func againstOpenFiles(_ number: Int, _ key: String) throws(StartupError) {
    let possible = ConnectionLimits.possible
    guard number <= possible else {
      throw StartupError("\(key) is \(number), but the limit of open files allows \(possible): raise ulimit -n")
    }
  }
}
