// SPDX-License-Identifier: Apache-2.0
import Configuration
import RelayServer
import Synchronization

/// Records the keys that are set, and the source of each, for `serve --check`.
final class ConfigurationTrace: AccessReporter {
  private let found = Mutex<[String: String]>([:])
  /// The lines of lists of objects, which only a file can contain, by key.
  private let listed = Mutex<[String: String]>([:])

  /// Records the file's lists of objects, with one line for each object.
  func note(_ file: ConfigurationFile) {
    listed.withLock { listed in
      for (key, entries) in file.entries where !entries.isEmpty {
        listed[key] = entries.map { "\(key) = \($0)  (\(file.path))" }.joined(separator: "\n")
      }
    }
  }

  func report(_ event: AccessEvent) {
    guard case .success(let value?) = event.result else { return }
    let source = event.providerResults.first { (try? $0.result.get())?.value != nil }?.providerName ?? ""
    // The name of a provider is `Type[name]`, or only its type.
    let own = source.firstIndex(of: "[").map { source[source.index(after: $0)...].dropLast() }
    let name = source.contains("Environment") ? "environment" : own ?? source[...]
    guard case .string(let text) = value.content else { return }
    let key = event.metadata.key.components.joined(separator: ".")
    found.withLock { $0[key] = "\(key) = \(text)  (\(name))" }
  }

  /// The lines `key = value  (source)`, in the order of the keys.
  var lines: [String] {
    let lines = listed.withLock { $0 }.merging(found.withLock { $0 }) { $1 }
    return lines.sorted { $0.key < $1.key }.map(\.value)
  }
}
