// SPDX-License-Identifier: Apache-2.0
import RelayGateways
import RelayIdentity
import RelayPush

// Reads the key files and secret files of the configured apps.

extension Apps {
  /// Returns the apps that have a credential for Apple's service, with their keys. Throws ``StartupError``.
  func readKeys() throws(StartupError) -> [AppleApp] {
    var found: [AppleApp] = []
    for app in list {
      guard let credential = app.credential else { continue }
      let key = try credential.read(at: "\(app.pointer)/credential")
      if let other = found.first(where: { $0.key.id == key.id && $0.key != key }) {
        throw StartupError("\(app.pointer)/credential: \(other.name) has another key of the same id \(key.id)")
      }
      found.append(AppleApp(name: app.name, topics: app.topics, key: key, environment: app.environment))
    }
    return found
  }

  /// Returns the apps that have a Matrix gateway, with their secrets. Throws ``StartupError``.
  func readSecrets() throws(StartupError) -> [MatrixApp] {
    var found: [MatrixApp] = []
    for app in list {
      guard let gateway = app.matrix else { continue }
      var secret: [UInt8]?
      if let file = gateway.secretFile {
        let pointer = "\(app.pointer)/matrix/secretFile"
        secret = Array(try PrivateFile(file, at: pointer).text.utf8)
        while secret?.last == 0x0A || secret?.last == 0x0D { secret?.removeLast() }
        guard secret?.isEmpty == false else { throw StartupError("\(pointer): \(file) is empty") }
      }
      found.append(MatrixApp(name: app.name, topics: app.topics, endpoint: gateway.endpoint, secret: secret))
    }
    return found
  }
}

extension AppleCredential {
  fileprivate func read(at pointer: String) throws(StartupError) -> ProviderKey {
    let file = try PrivateFile(keyFile, at: "\(pointer)/keyFile")
    do {
      return try ProviderKey(pem: file.text, id: keyID, team: team)
    } catch {
      throw StartupError("\(pointer): the key \(keyFile) \(error.words)")
    }
  }
}
