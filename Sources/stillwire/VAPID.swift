// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayGateways
import RelayIdentity
import RelayServer

struct VAPID: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make the key that says to push services of browsers who you are.",
    discussion: """
      A subscription of a browser is bound to this key: whoever changes it has all browsers subscribe again. Give the \
      file to `stillwire serve` in its configuration, under webPush.
      """
  )

  @Option(help: "Where to write the private key; a file that is there is not replaced (default: print it).")
  var file: String?

  @Option(help: "Where push services reach you: mailto: and an address, or an https: URL.")
  var subject = "mailto:you@example.org"

  func run() throws {
    do {
      let pem = VAPIDKey.makePEM()
      let key: VAPIDKey
      do {
        key = try VAPIDKey(pem: pem, subject: subject)
      } catch {
        throw StartupError("--subject \(error.words)")
      }
      if let file { try PrivateFile.make(pem + "\n", at: file) } else { print(pem) }
      print("Public key, which pages get from /v1/webpush:\n\(key.publicKey)\n")
      print("In the configuration file:")
      print(#"{"webPush": {"keyFile": "\#(file ?? "vapid.pem")", "subject": "\#(subject)"}}"#)
    } catch {
      throw ExitCode.failure(error)
    }
  }
}
