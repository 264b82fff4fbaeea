// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayHub
import RelayIdentity

extension ServerConfiguration {
  /// Takes from `other` what cannot change while a server runs; returns the keys of what would have changed.
  mutating func keep(fixedOf other: ServerConfiguration) -> [String] {
    var changed: [String] = []
    func keep<Value: Equatable>(_ key: String, _ path: WritableKeyPath<ServerConfiguration, Value>) {
      guard self[keyPath: path] != other[keyPath: path] else { return }
      self[keyPath: path] = other[keyPath: path]
      changed.append(key)
    }
    keep("address", \.address)
    keep("port", \.port)
    keep("data", \.dataFolder)
    keep("web", \.webFolder)
    keep("origins", \.origins)
    keep("hosts", \.hosts)
    keep("openToNetwork", \.isOpenToNetwork)
    keep("logLevel", \.logLevel)
    keep("drain.delay", \.drainDelay)
    keep("connections.most", \.connections.most)
    keep("connections.perAddress", \.connections.perAddress)
    keep("connections.requestsPerUser", \.connections.requestsPerUser)
    keep("connections.unsentPerUser", \.connections.unsentPerUser)
    keep("connections.unsent", \.connections.unsent)
    keep("trustedProxies", \.connections.trustedProxies)
    keep("store.synchronous", \.synchronous)
    keep("apple.host", \.apple.host)
    keep("apple.port", \.apple.port)
    keep("apple.caFile", \.apple.caFile)
    keep("apple.connections", \.apple.connections)
    keep("webPush.caFile", \.webPush.service.caFile)
    keep("webPush.allowedAddresses", \.webPush.service.allowedAddresses)
    // Whether tokens are needed decides who may reach the port at all.
    if identity.isOpen != other.identity.isOpen { keep("tokens", \.identity) }
    return changed
  }
}
