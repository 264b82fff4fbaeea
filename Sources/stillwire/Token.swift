// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayIdentity
import RelayJSON
import RelayProtocol
import RelayServer

/// `stillwire token`: signs a token, with the same key files as the relay uses.
struct Token: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a token for a user.",
    discussion: """
      This command is for development, and for backends that call a command instead of a library.

      Without --room the token itself grants no rights in rooms. Its user can use the rooms in which a backend has \
      made the user a member, and the rooms that the relay's patterns open with `can`. Without --room and --account \
      the token does not permit changes of devices and preferences.
      """
  )

  @Option(help: ArgumentHelp("File with the relay's secret. Signs with HS256.", valueName: "file"))
  var secretFile: String?

  @Option(help: ArgumentHelp("File with a private key as PEM. Needs --algorithm.", valueName: "file"))
  var keyFile: String?

  @Option(help: "Algorithm of the private key: ES256, RS256, EdDSA or Ed25519.")
  var algorithm: String?

  @Option(help: ArgumentHelp("Id of the key (`kid`), for a relay with several keys.", valueName: "text"))
  var kid: String?

  @Option(help: "User of the token.")
  var user: String

  @Option(help: "Name that others see.")
  var name: String?

  @Option(help: "URL of a picture that others see.")
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
      "Lifetime of the token. A relay rejects more than its --tokens-max-lifetime (366 days).", valueName: "seconds")
  )
  var expiresIn: Int = 3600

  @Option(help: ArgumentHelp("Audience of the token (`aud`).", valueName: "text"))
  var audience: String?

  @Option(help: ArgumentHelp("Issuer of the token (`iss`).", valueName: "text"))
  var issuer: String?

  @Option(
    name: .customLong("room"),
    help: ArgumentHelp(
      "Rights in rooms, as PATTERN=RIGHT,RIGHT. Can be repeated: the first pattern that matches a room applies.",
      valueName: "grant"))
  var rooms: [String] = []

  @Option(
    help: ArgumentHelp("Pattern for the users that the user may watch. Can be repeated.", valueName: "pattern"))
  var watch: [String] = []

  @Option(
    help: ArgumentHelp(
      "Rights to change the user's own account, separated by commas: devices, preferences (default: both with --room, "
        + "none without).", valueName: "rights"))
  var account: String?

  func validate() throws {
    guard UserID(rawValue: user) != nil else {
      throw ValidationError("--user \(Fields.badName(UserID.self))")
    }
    guard name?.utf8.count ?? 0 <= User.maxNameLength, avatar?.utf8.count ?? 0 <= User.maxAvatarLength else {
      throw ValidationError("--name takes \(User.maxNameLength) bytes at most, --avatar \(User.maxAvatarLength)")
    }
    for (option, text) in [("--name", name), ("--handle", handle), ("--handle-type", handleType)] {
      guard text?.isLine ?? true else { throw ValidationError("\(option) \(String.mustBeLine)") }
    }
    guard avatar?.isSecureURL ?? true else { throw ValidationError("--avatar must be an https URL") }
    guard handle?.utf8.count ?? 1 > 0, handle?.utf8.count ?? 0 <= User.maxHandleLength,
      handleType?.utf8.count ?? 0 <= User.maxHandleLength
    else {
      throw ValidationError(
        "--handle takes 1 to \(User.maxHandleLength) bytes, --handle-type \(User.maxHandleLength) at most")
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
        // A room's name may contain `=`, but a right does not.
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
        guard let glob = Glob(text) else { throw ValidationError("--watch \(text) is not a pattern") }
        return glob
      }
    }
  }

  func run() async throws {
    let now = Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000))
    var claims = TokenSigner.Claims(
      user: User(
        id: UserID(unchecked: user), name: name, avatar: avatar, handle: handle, handleType: handleType),
      expires: now + .seconds(expiresIn))
    claims.issued = now
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
      "note: without --room this token grants no rights in rooms; its user can use rooms as a member, or by the "
      + "relay's room patterns\n"
    try? FileHandle.standardError.write(contentsOf: Data(note.utf8))
  }

  private func signer() async throws(StartupError) -> TokenSigner {
    if let secretFile { return await TokenSigner(secret: try SecretFile(forTokensAt: secretFile).secret, keyID: kid) }
    guard let keyFile, let algorithm = algorithm.flatMap(TokenAlgorithm.init) else {
      throw StartupError("--algorithm must be ES256, RS256, EdDSA or Ed25519")
    }
    let data = try OpenedFile(keyFile, as: "the key").data
    return try await TokenSigner(algorithm, pem: String(decoding: data, as: UTF8.self), keyID: kid)
  }
}
