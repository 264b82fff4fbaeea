// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Foundation
import RelayHTTP

/// `stillwire document`: prints a document of the interface, byte for byte as the relay serves it.
struct DocumentCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "document",
    abstract: "Print the description of this version's interface.",
    discussion: """
      openapi describes HTTP (OpenAPI 3.1). asyncapi describes WebSocket sessions (AsyncAPI 3.0). A relay serves them \
      at /openapi.json and /asyncapi.json.
      """
  )

  @Argument(help: "Document to print.")
  var name: Document.Name

  func run() async throws {
    try await FileHandle.standardOutput.write(contentsOf: Data(Document.named(name).text))
  }
}

extension Document.Name: ExpressibleByArgument {}
