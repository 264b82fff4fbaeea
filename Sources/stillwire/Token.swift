// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayServer

struct Token: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a token for a user.",
    discussion: """
      For development, and for backends that would rather call a command than a library.

      Without --room the token gives no rights of its own: its user may use the rooms that the user is a member of, by \
      a backend's doing, and the rooms that the relay's patterns open with `can`. Nor may it change devices or \
      preferences without --account.
      """
  )

  @Option(help: ArgumentHelp("Sign with the secret that the relay was started with (HS256).", valueName: "file"))
  var secretFile: String?

  @Option(help: ArgumentHelp("Sign with a private key as PEM.", valueName: "file"))
  var keyFile: String?

  @Option(help: "What the key is for: ES256, RS256 or EdDSA.")
  var algorithm: String?

  @Option(help: ArgumentHelp("The name of the key, for a relay that has several.", valueName: "text"))
  var kid: String?

  @Option(help: "Who the token is for.")
  var user: String

  @Option(help: "The name that others see.")
  var name: String?

  @Option(help: "A URL of a picture that others see.")
  var avatar: String?

  @Option(
    help: ArgumentHelp(
      "Address of the user, such as a telephone number: phones match Allowed People by it (default: the user).",
      valueName: "text"))
  var handle: String?

  @Option(help: ArgumentHelp("Kind of the handle: phoneNumber, emailAddress, or a word of the app.", valueName: "text"))
  var handleType: String?

  @Option(
    help: ArgumentHelp(
      "For how long it is valid. A relay refuses more than its --tokens-max-lifetime (366 days).", valueName: "seconds")
  )
  var expiresIn: Int = 3600

  @Option(help: ArgumentHelp("Who it is meant for.", valueName: "text"))
  var audience: String?

  @Option(help: ArgumentHelp("Who made it.", valueName: "text"))
  var issuer: String?

  @Option(
    name: .customLong("room"),
    help: ArgumentHelp(
      "What it allows in which rooms, as PATTERN=RIGHT,RIGHT; repeat it for more, the first that fits counts.",
      valueName: "grant"))
  var rooms: [String] = []

  @Option(help: ArgumentHelp("A pattern of people who may be watched; repeat it for more.", valueName: "pattern"))
  var watch: [String] = []

  @Option(
    help: ArgumentHelp(
      "Changes that it allows to the user's own account, with commas between: devices, preferences (default: both with "
        + "--room, none without).", valueName: "rights"))
  var account: String?

  func validate() throws {
    guard UserID(rawValue: user) != nil else {
      throw ValidationError("--user \(Fields.badName(UserID.self))")
    }
    guard name?.utf8.count ?? 0 <= User.longestName, avatar?.utf8.count ?? 0 <= User.longestAvatar else {
      throw ValidationError("--name takes \(User.longestName) bytes at most, --avatar \(User.longestAvatar)")
    }
    guard avatar?.isSecureURL ?? true else { throw ValidationError("--avatar must be an https URL") }
    guard handle?.utf8.count ?? 1 > 0, handle?.utf8.count ?? 0 <= User.longestHandle,
      handleType?.utf8.count ?? 0 <= User.longestHandle
    else {
      throw ValidationError(
        "--handle takes 1 to \(User.longestHandle) bytes, --handle-type \(User.longestHandle) at most")
    }
    guard handleType == nil || handle != nil else { throw ValidationError("--handle-type needs --handle") }
    guard (1...315_360_000).contains(expiresIn) else {
      throw ValidationError("--expires-in must be from 1 second to ten years")
    }
    guard (secretFile == nil) != (keyFile == nil) else {
      throw ValidationError("give --secret-file, or --key-file with --algorithm")
    }
    guard (keyFile == nil) == (algorithm == nil) else {
      throw ValidationError("--key-file and --algorithm belong together")
    }
    _ = try grants
    _ = try globs
    _ = try accountRights
  }

  private var accountRights: AccountRights? {
    get throws {
      try account?.split(separator: ",").reduce(into: AccountRights()) { rights, name in
        guard let right = AccountRights(name: String(name)) else {
          let names = AccountRights.named.map(\.name).joined(separator: ", ")
          throw ValidationError("--account may give \(names), not \(name)")
        }
        rights.formUnion(right)
      }
    }
  }

  private var grants: [Grant] {
    get throws {
      try rooms.map { text in
        // A name may have a `=` in it, a right has none.
        guard let split = text.lastIndex(of: "="), let match = Glob(String(text[..<split])) else {
          throw ValidationError("--room \(text) is not PATTERN=RIGHT,RIGHT")
        }
        let can = try text[text.index(after: split)...].split(separator: ",").reduce(into: Rights()) { rights, name in
          guard let right = Rights(name: String(name)) else {
            throw ValidationError("--room may give \(Rights.named.map(\.name).joined(separator: ", ")), not \(name)")
          }
          rights.formUnion(right)
        }
        return Grant(match: match, can: can)
      }
    }
  }

  private var globs: [Glob] {
    get throws {
      try watch.map { text in
        guard let glob = Glob(text) else { throw ValidationError("--watch \(text) is no pattern") }
        return glob
      }
    }
  }

  func run() async throws {
    let expires = Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000)) + .seconds(expiresIn)
    var claims = TokenSigner.Claims(
      user: User(
        id: UserID(unchecked: user), name: name, avatar: avatar, handle: handle, handleType: handleType),
      expires: expires)
    claims.audience = audience
    claims.issuer = issuer
    claims.grants = rooms.isEmpty ? nil : try grants
    claims.watch = watch.isEmpty ? nil : try globs
    claims.account = try accountRights
    do {
      print(try await signer().sign(claims))
    } catch let error as StartupError {
      throw ExitCode.failure(error)
    }
    guard rooms.isEmpty else { return }
    let note =
      "note: without --room this token gives no rights of its own in rooms; its user may use rooms as a member, or by "
      + "the relay's room patterns\n"
    try? FileHandle.standardError.write(contentsOf: Data(note.utf8))
  }

  private func signer() async throws(StartupError) -> TokenSigner {
    if let secretFile { return await TokenSigner(secret: try SecretFile(forTokensAt: secretFile).secret, keyID: kid) }
    guard let keyFile, let algorithm = algorithm.flatMap(TokenAlgorithm.init) else {
      throw StartupError("--algorithm must be ES256, RS256 or EdDSA")
    }
    guard let data = FileManager.default.contents(atPath: keyFile) else {
      throw StartupError("the key \(keyFile) cannot be read")
    }
    return try await TokenSigner(algorithm, pem: String(decoding: data, as: UTF8.self), keyID: kid)
  }
}
