// SPDX-License-Identifier: Apache-2.0
// The image of a notification, `push.image` of the sender, and its file for an attachment.
public import Foundation
public import RelayJSON
import RelayProtocol

/// The image that a notification shows as an attachment.
public struct NotificationImage: Equatable, Sendable {
  /// A format that the system accepts as an attachment (`UNNotificationAttachment`, "Supported File Types").
  public enum Format: String, Sendable, CaseIterable {
    case jpeg, png, gif

    /// Reads the format from the first bytes of a picture. Returns `nil` for every other format.
    public init?(of picture: some Collection<UInt8>) {
      let start = Array(picture.prefix(8))
      if start.starts(with: [0xff, 0xd8, 0xff]) {
        self = .jpeg
      } else if start == [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] {
        self = .png
      } else if start.starts(with: Array("GIF87a".utf8)) || start.starts(with: Array("GIF89a".utf8)) {
        self = .gif
      } else {
        return nil
      }
    }
  }

  /// Maximum size in bytes. An extension has 24 MB of memory.
  public static let maxSize = 2 << 20

  /// The URL.
  public var url: String

  public init(url: String) { self.url = url }

  /// Reads a payload of any kind: the member `image` beside `aps`. Returns `nil` if the payload has none.
  public init?(_ payload: JSON) {
    guard let url = payload["image"]?.text, !url.isEmpty else { return nil }
    self.url = url
  }

  /// Reads the text of a payload. Also returns `nil` if it is longer than ``CommunicationPayload/maxSize`` or is not
  /// JSON.
  public init?(reading text: some Collection<UInt8>) {
    guard let payload = JSON(payload: text) else { return nil }
    self.init(payload)
  }

  /// Loads the image over https, without a credential, and stores it in a new file, whose name states its format. The
  /// system moves the file when it shows the notification. Throws ``AvatarCache/Failure``, or the error of the file.
  /// - Parameter folder: An existing folder.
  public func file(in folder: URL = FileManager.default.temporaryDirectory) async throws -> URL {
    try await file(in: folder) { try await AvatarCache.download($0, maxSize: Self.maxSize) }
  }

  func file(in folder: URL, load: @Sendable (URL) async throws -> Data) async throws -> URL {
    guard url.isSecureURL, let source = URL(string: url) else { throw AvatarCache.Failure.notSecure }
    let picture = try await load(source)
    guard picture.count <= Self.maxSize else { throw AvatarCache.Failure.tooLarge }
    guard let format = Format(of: picture) else { throw AvatarCache.Failure.notPicture }
    try Task.checkCancellation()
    let file = folder.appendingPathComponent("stillwire-\(UUID().uuidString.lowercased()).\(format.rawValue)")
    try picture.write(to: file, options: .atomic)
    return file
  }
}
