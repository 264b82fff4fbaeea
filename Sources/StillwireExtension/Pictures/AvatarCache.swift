// SPDX-License-Identifier: Apache-2.0
// Loads and stores the pictures of senders and groups, for a notification service extension.
public import Foundation
import RelayProtocol

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Pictures of senders and groups in a folder, which the app and its extensions may share.
///
/// - A picture is loaded over https, without a credential. It has at most 1 MB.
/// - If the relay knows the SHA-256 of a picture, its bytes must have this hash.
/// - On Apple's systems a picture is scaled to 256 pixels, so that an extension needs little memory.
/// - Pictures that are older than ``maxAge`` are loaded again, and removed from the folder.
public struct AvatarCache: Sendable {
  /// A reason for which there is no picture.
  public enum Failure: Error, Equatable, Sendable {
    /// The URL does not begin with `https://`, or is not a URL.
    case notSecure
    /// The server did not send a picture in time.
    case unreachable
    /// The picture has more than ``maxSize`` bytes.
    case tooLarge
    /// The hash differs from the one that the relay sent.
    case wrongHash
    /// The system cannot read the bytes as a picture.
    case notPicture
  }

  /// Maximum size of a picture in bytes, as the server sends it.
  public static let maxSize = 1 << 20
  /// Maximum width and height of a stored picture, in pixels.
  public static let maxPixels = 256
  /// Maximum number of stored pictures. The oldest are removed beyond it.
  public static let maxCount = 500
  /// Maximum time for one picture, with all redirects. A notification waits for it
  /// (``NotificationDelivery/loadingLimit(of:)``).
  public static let timeout = NotificationDelivery.loadingLimit(of: NotificationDelivery.limit)

  /// The folder of the pictures. The cache creates it when it stores the first picture.
  public let folder: URL
  /// The time for which a stored picture is used.
  public let maxAge: Duration
  private let now: @Sendable () -> Date
  private let load: @Sendable (URL) async throws -> Data
  private let scale: @Sendable (Data) throws -> Data

  /// - Parameters:
  ///   - folder: A folder of the app group's container, for the cache alone.
  ///   - maxAge: The time for which a stored picture is used. A picture with another URL or hash is loaded immediately.
  public init(folder: URL, maxAge: Duration = .seconds(7 * 86_400)) {
    self.init(
      folder: folder, maxAge: maxAge, now: { Date() }, load: { try await Self.download($0, maxSize: Self.maxSize) },
      scale: PictureScaler.scaled)
  }

  init(
    folder: URL, maxAge: Duration = .seconds(7 * 86_400), now: @escaping @Sendable () -> Date = { Date() },
    load: @escaping @Sendable (URL) async throws -> Data, scale: @escaping @Sendable (Data) throws -> Data = { $0 }
  ) {
    self.folder = folder
    self.maxAge = maxAge
    self.now = now
    self.load = load
    self.scale = scale
  }

  /// Returns a picture, from the folder or from its server. Throws ``Failure``, or `CancellationError` if the task is
  /// cancelled.
  ///
  /// A picture that cannot be stored is returned nevertheless: before the first unlock of the phone, for example, the
  /// folder is locked.
  /// - Parameters:
  ///   - text: The URL, as in ``PayloadPerson/avatar``.
  ///   - hash: The expected SHA-256 in lower-case hexadecimal digits, as in ``PayloadPerson/avatarSHA256``.
  public func picture(_ text: String, sha256 hash: String? = nil) async throws -> Data {
    guard text.isSecureURL, let url = URL(string: text) else { throw Failure.notSecure }
    let file = file(of: text, hash)
    if let picture = stored(file) { return picture }
    let original = try await load(url)
    guard original.count <= Self.maxSize else { throw Failure.tooLarge }
    if let hash, SHA256Digest.hexadecimal(of: original) != hash { throw Failure.wrongHash }
    try Task.checkCancellation()
    let picture = try scale(original)
    store(picture, in: file)
    return picture
  }

  /// Returns the picture of a notification, in the same way.
  public func picture(_ picture: NotificationPicture) async throws -> Data {
    try await self.picture(picture.url, sha256: picture.sha256)
  }

  /// Removes the pictures that are older than ``maxAge``, and the oldest ones beyond ``maxCount``. The cache does this
  /// after it has stored a picture.
  public func evict() { folder.removeOldFiles(beyond: Self.maxCount) { isFresh($0) } }

  /// The name contains the hash, so that a stored picture needs no second check.
  private func file(of url: String, _ hash: String?) -> URL {
    folder.appendingPathComponent(SHA256Digest.hexadecimal(of: "\(url)\n\(hash ?? "")".utf8))
  }

  private func stored(_ file: URL) -> Data? {
    guard let time = modified(file), isFresh(time) else { return nil }
    return try? Data(contentsOf: file)
  }

  private func store(_ picture: Data, in file: URL) {
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard (try? picture.write(to: file, options: .atomic)) != nil else { return }
    try? FileManager.default.setAttributes([.modificationDate: now()], ofItemAtPath: file.path)
    evict()
  }

  private func modified(_ file: URL) -> Date? {
    (try? FileManager.default.attributesOfItem(atPath: file.path))?[.modificationDate] as? Date
  }

  /// True if the picture is not too old. A time in the future, after a change of the clock, is not fresh.
  private func isFresh(_ time: Date) -> Bool {
    // Some file systems round times to seconds.
    (-1...maxAge.seconds).contains(now().timeIntervalSince(time))
  }

  /// Loads a picture from its server. Throws ``Failure``.
  static func download(_ url: URL, maxSize: Int) async throws -> Data {
    do {
      let answer = try await HTTPExchange.answer(
        to: URLRequest(url: url), patience: timeout, maxSize: maxSize, redirects: .secure)
      guard answer.status == 200 else { throw Failure.unreachable }
      return Data(answer.body)
    } catch let error as StillwireError {
      throw error.code == .refused(.tooLarge) ? Failure.tooLarge : Failure.unreachable
    }
  }
}

extension AvatarCache {
  /// Removes all stored pictures, for a sign-out. The pictures of the other accounts are loaded again.
  public func removeAll() { try? FileManager.default.removeItem(at: folder) }
}
