// SPDX-License-Identifier: Apache-2.0
import Foundation
import RelayGateways

extension Apps {
  /// The apps that Apple's service pushes to, with their keys read. Throws ``StartupError``.
  func readKeys() throws(StartupError) -> [AppleApp] {
    var found: [AppleApp] = []
    for app in list {
      guard let credential = app.credential else { continue }
      let key = try credential.read(at: "\(app.place)/credential")
      if let other = found.first(where: { $0.key.id == key.id && $0.key != key }) {
        throw StartupError("\(app.place)/credential: \(other.name) has another key of the same id \(key.id)")
      }
      found.append(AppleApp(name: app.name, topics: app.topics, key: key, environment: app.environment))
    }
    return found
  }
}

extension AppleCredential {
  fileprivate func read(at place: String) throws(StartupError) -> ProviderKey {
    let files = FileManager.default
    guard let data = files.contents(atPath: keyFile) else {
      throw StartupError("\(place)/keyFile: \(keyFile) cannot be read")
    }
    let mode = (try? files.attributesOfItem(atPath: keyFile))?[.posixPermissions] as? Int ?? 0
    guard mode & 0o007 == 0 else {
      throw StartupError("\(place)/keyFile: \(keyFile) can be read by others: chmod o= it")
    }
    do {
      return try ProviderKey(pem: String(decoding: data, as: UTF8.self), id: keyID, team: team)
    } catch {
      throw StartupError("\(place): the key \(keyFile) \(error.words)")
    }
  }
}
