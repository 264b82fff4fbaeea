// SPDX-License-Identifier: Apache-2.0
// Stores the people of incoming messages and calls, so that an outgoing message names the same people.
public import Foundation
import RelayJSON
public import RelayProtocol

/// The people whose messages or calls have reached this phone, in a folder that the app and its extensions share.
///
/// The system suggests people by the interactions that it knows. It recognizes a person only if incoming and outgoing
/// interactions name the person in the same way. The relay sends the handle of a person only in pushes, so the service
/// extension stores it for the app.
public struct PersonBook: Sendable {
  /// Maximum number of people. The book forgets the oldest ones beyond it.
  public static let maxCount = 500

  /// The folder of the book. The book creates it when it stores the first person.
  public let folder: URL

  /// - Parameter folder: A folder of the app group's container, for the book alone.
  public init(folder: URL) { self.folder = folder }

  /// Stores a person in place of the earlier entry. Before the first unlock of the phone the folder is locked, and the
  /// book stores nothing.
  public func store(_ person: IntentPerson) {
    let file = file(of: person.customIdentifier)
    guard read(file) != person else { return }
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard (try? Data(person.json.bytes).write(to: file, options: .atomic)) != nil else { return }
    folder.removeOldFiles(beyond: Self.maxCount)
  }

  /// Returns the stored person, or `nil` if there is none.
  public func person(_ user: UserID) -> IntentPerson? { read(file(of: user.rawValue)) }

  /// Removes all people. Call it at a sign-out.
  public func removeAll() { try? FileManager.default.removeItem(at: folder) }

  private func read(_ file: URL) -> IntentPerson? {
    (try? Data(contentsOf: file)).flatMap { JSON(payload: $0) }.flatMap(IntentPerson.init)
  }

  private func file(of id: String) -> URL { folder.appendingPathComponent(SHA256Digest.hexadecimal(of: id.utf8)) }
}

extension IntentPerson {
  fileprivate var json: JSON {
    var members: [String: JSON] = [
      "id": .string(customIdentifier), "name": .string(displayName), "handle": .string(handle),
      "type": .string(handleType.rawValue),
    ]
    members["image"] = image.map(JSON.string)
    return .object(members)
  }

  fileprivate init?(_ json: JSON) {
    guard let id = json["id"]?.text, let name = json["name"]?.text, let handle = json["handle"]?.text,
      let type = json["type"]?.text.flatMap(HandleType.init(rawValue:))
    else { return nil }
    self.init(PayloadPerson(id: id, name: name, handle: handle, avatar: json["image"]?.text))
    handleType = type
  }
}
