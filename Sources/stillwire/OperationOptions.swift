// SPDX-License-Identifier: Apache-2.0
import ArgumentParser

/// The options of `serve` for connections and proxies.
struct NetworkOptions: ParsableArguments {
  @Flag(help: "Allow open mode on an address that others reach.")
  var openToNetwork = false

  @Option(
    help: ArgumentHelp(
      "Names of the relay, with spaces between, that Host of a request may have. In open mode the relay answers no other "
        + "names but localhost; with tokens it answers any name (default: none).", valueName: "list"))
  var hosts: String?

  @Option(
    help: ArgumentHelp(
      "Networks whose X-Forwarded-For names the client's address, with spaces between (default: none).",
      valueName: "list"))
  var trustedProxies: String?

  @Option(
    help: ArgumentHelp(
      "Maximum number of connections, one more gets 503 (default: what the limit of open files allows).",
      valueName: "n"))
  var connectionsMost: String?

  @Option(
    help: ArgumentHelp(
      "Maximum number of connections from an IPv4 address or an IPv6 /64, one more gets 429; 0 lifts it (default: 0).",
      valueName: "n"))
  var connectionsPerAddress: String?

  @Option(
    help: ArgumentHelp("How long a user whose connection is lost is still online (default: 10).", valueName: "seconds"))
  var presenceGrace: String?

  /// The options that were given, by the keys of the configuration.
  var given: [String: String?] {
    [
      "openToNetwork": openToNetwork ? "true" : nil, "hosts": hosts, "trustedProxies": trustedProxies,
      "connections.most": connectionsMost, "connections.perAddress": connectionsPerAddress,
      "presence.grace": presenceGrace,
    ]
  }
}

/// The options of `serve` for storage, metrics and the end of the process.
struct OperationOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "When a message counts as stored: full, or normal, which survives a crash but not a loss of power (default: full).",
      valueName: "mode"))
  var storeSynchronous: String?

  @Option(
    help: ArgumentHelp(
      "Whether devices of the platform simulator may register: true or false (default: true in open mode alone).",
      valueName: "flag"))
  var simulatedPhones: String?

  @Flag(help: "Serve /metrics, and the details of /ready, to everybody, not only to API keys.")
  var metricsOpen = false

  @Option(
    help: ArgumentHelp(
      "How long /ready answers 503 before draining starts (default: 0 on loopback, else 5).", valueName: "seconds"))
  var drainDelay: String?

  /// The options that were given, by the keys of the configuration.
  var given: [String: String?] {
    [
      "store.synchronous": storeSynchronous, "simulatedPhones": simulatedPhones,
      "metrics.open": metricsOpen ? "true" : nil, "drain.delay": drainDelay,
    ]
  }
}
