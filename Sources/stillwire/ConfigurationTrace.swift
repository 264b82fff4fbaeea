// SPDX-License-Identifier: Apache-2.0
import Configuration
import RelayServer
import Synchronization

/// Notes which keys were set and by whom.
final class ConfigurationTrace: AccessReporter {
  private let found = Mutex<[String: String]>([:])
  /// The lines of what only a file can say, by key.
  private let listed = Mutex<[String: String]>([:])

  /// Notes the file's lists of objects, one entry a line.
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
    // A provider calls itself `Type[name]`, or has no name of its own.
    let own = source.firstIndex(of: "[").map { source[source.index(after: $0)...].dropLast() }
    let name = source.contains("Environment") ? "environment" : own ?? source[...]
    guard case .string(let text) = value.content else { return }
    let key = event.metadata.key.components.joined(separator: ".")
    found.withLock { $0[key] = "\(key) = \(text)  (\(name))" }
  }

  /// `key = value  (by whom)`, in the order of the keys.
  var lines: [String] {
    let lines = listed.withLock { $0 }.merging(found.withLock { $0 }) { $1 }
    return lines.sorted { $0.key < $1.key }.map(\.value)
  }
}
