// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import RelayGateways
import RelayIdentity
import RelayServer

/// `stillwire vapid`: creates the key pair for pushes to browsers (RFC 8292).
struct VAPID: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Create the key that identifies your relay to the push services of browsers.",
    discussion: """
      The subscriptions of browsers depend on this key. After a change of the key, all browsers must subscribe again. \
      Write the path of the file in the configuration of `stillwire serve`, under webPush.
      """
  )

  @Option(help: "File for the private key. An existing file is not replaced (default: print the key).")
  var file: String?

  @Option(help: "Your contact for push services: a mailto: or https: URL.")
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
      print("Public key, which the relay serves to pages at /v1/webpush:\n\(key.publicKey)\n")
      print("In the configuration file:")
      print(#"{"webPush": {"keyFile": "\#(file ?? "vapid.pem")", "subject": "\#(subject)"}}"#)
    } catch {
      throw ExitCode.failure(error)
    }
  }
}
