// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayHTTP

/// Prints a document of the interface, byte for byte as the relay serves it.
struct DocumentCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "document",
    abstract: "Print the description of the interface that a relay of this version serves.",
    discussion: """
      openapi is OpenAPI 3.1 and describes HTTP. asyncapi is AsyncAPI 3.0 and describes sessions. A relay serves them at \
      /openapi.json and /asyncapi.json.
      """
  )

  @Argument(help: "The document.")
  var name: Document.Name

  func run() async throws {
    try await FileHandle.standardOutput.write(contentsOf: Data(Document.named(name).text))
  }
}

extension Document.Name: ExpressibleByArgument {}
