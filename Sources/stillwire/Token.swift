// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayProtocol
import RelayServer

struct Token: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a token for a user (HS256).",
    discussion: "For development, and for backends that would rather call a command than a library."
  )

  @Option(help: ArgumentHelp("The secret that the relay was started with.", valueName: "file"))
  var secretFile: String

  @Option(help: "Who the token is for.")
  var user: String

  @Option(help: "The name that others see.")
  var name: String?

  @Option(help: "A URL of a picture that others see.")
  var avatar: String?

  @Option(help: ArgumentHelp("For how long it is valid.", valueName: "seconds"))
  var expiresIn: Int = 3600

  func validate() throws {
    guard UserID(rawValue: user) != nil else {
      throw ValidationError("--user \(Fields.badName(UserID.self))")
    }
    guard name?.utf8.count ?? 0 <= User.longestName, avatar?.utf8.count ?? 0 <= User.longestAvatar else {
      throw ValidationError("--name takes \(User.longestName) bytes at most, --avatar \(User.longestAvatar)")
    }
    guard (1...315_360_000).contains(expiresIn) else {
      throw ValidationError("--expires-in must be from 1 second to ten years")
    }
  }

  func run() async throws {
    do {
      let secret = try SecretFile(path: secretFile).secret
      let expires = Timestamp(rawValue: Int64(Date().timeIntervalSince1970 * 1000)) + .seconds(expiresIn)
      print(
        try await TokenSigner.sign(
          User(id: UserID(unchecked: user), name: name, avatar: avatar), secret: secret, expires: expires))
    } catch let error as StartupError {
      try? FileHandle.standardError.write(contentsOf: Data("stillwire: \(error)\n".utf8))
      throw ExitCode.failure
    }
  }
}
