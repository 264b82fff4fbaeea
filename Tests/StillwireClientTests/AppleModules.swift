// SPDX-License-Identifier: Apache-2.0
#if os(Linux)
  import ChildProcess
  import Foundation

  /// One of Apple's systems, with the minimum version of the package.
  enum AppleSystem: String, CaseIterable, Sendable {
    case iOS, macOS, tvOS, visionOS, watchOS

    var minVersion: Double {
      switch self {
      case .iOS, .tvOS: 16
      case .macOS: 13
      case .visionOS: 1
      case .watchOS: 9
      }
    }
  }

  /// Compiles code for one of Apple's systems, with modules that declare only the used parts of its frameworks
  /// (StandIns). Compiles through SIL, because the type checker alone finds no data races.
  ///
  /// The compiler of Linux ignores the conditions and attributes of other systems. The sources are therefore copied, with
  /// these changes:
  ///
  /// - `os(tvOS)` becomes a flag of the compiler, which is set for this system.
  /// - `@available(iOS 17, *)` becomes `@available(*, unavailable)` if the version is above that of the compilation. The
  ///   last compilation is for the minimum version.
  /// - `if #available(iOS 17, *) { … } else { … }` becomes the branch that the version of the compilation runs. Each
  ///   version in a condition has a compilation of its own, so that the check compiles all branches.
  /// - `@available(tvOS, unavailable)` becomes `@available(*, unavailable)`.
  struct AppleModules {
    /// The output of the compiler, if it fails.
    struct Failure: Error, CustomStringConvertible { var description: String }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    private static let standIns = root.appending(path: "Tests/StillwireClientTests/StandIns")
    /// The modules, each after the modules that it imports.
    static let names = [
      "os", "UserNotifications", "Intents", "AppIntents", "AVFAudio", "CallKit", "PushKit", "Security", "UIKit",
      "SwiftUI",
    ]
    /// The modules that only StillwireExtension and StillwireClient import. They need the modules of the build.
    static let namesOfClients = ["CoreGraphics", "ImageIO", "Network", "NIOTransportServices"]
    /// The prefix of the pages at Apple. Other pages belong to packages.
    static let pagesOfApple = "https://developer.apple.com/documentation/"

    let system: AppleSystem
    /// The minimum version of the code.
    private let deployment: Double
    private let folder: URL
    /// The folders of compiled modules that the code imports.
    private var imported: [URL] = []

    /// - Parameter deployment: The minimum version of the code. Is that of the package if it is `nil`.
    init(_ system: AppleSystem, deployment: Double? = nil) async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "apple-\(UUID().uuidString)")
      try self.init(system, deployment ?? system.minVersion, in: folder)
      imported.append(try await Self.compiled.standIns(for: system, self.deployment))
    }

    private init(_ system: AppleSystem, _ deployment: Double, in folder: URL) throws {
      self.system = system
      self.deployment = deployment
      self.folder = folder
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// The compiled stand-ins. Tests share them, because their compilation takes longer than that of most samples.
    private actor Compiled {
      private var folders: [String: URL] = [:]

      /// The suite is serialized, so that no two tests compile the same ones.
      func standIns(for system: AppleSystem, _ deployment: Double) async throws -> URL {
        let key = "\(system)-\(deployment)"
        if let folder = folders[key] { return folder }
        let folder = AppleModules.root.appending(path: ".build/stand-ins/\(key)")
        try? FileManager.default.removeItem(at: folder)
        let modules = try AppleModules(system, deployment, in: folder)
        for name in AppleModules.names { try await modules.compileStandIn(name) }
        folders[key] = folder
        return folder
      }
    }
    private static let compiled = Compiled()

    private func compileStandIn(_ name: String, _ arguments: [String] = []) async throws {
      let source = try String(contentsOf: Self.standIn(name), encoding: .utf8)
      try await compile(["\(name).swift": source], as: name, mode: 6, arguments)
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    static func standIn(_ name: String) -> URL { standIns.appending(path: "\(name).swift") }

    /// A declaration of a stand-in.
    struct Declaration: Equatable {
      /// The keyword and the name, or the signature of a member.
      var text: String
      /// The systems of the declaration itself.
      var systems: String
      /// The URL of its page. A member without a page of its own has the page of its type.
      var page: String?
    }

    /// The declarations of a stand-in, with the members of types.
    static func declarations(of name: String) throws -> [Declaration] {
      let source = try String(contentsOf: standIn(name), encoding: .utf8)
      var declarations: [Declaration] = []
      var (page, pageOfType, systems) = (String?.none, String?.none, [String]())
      var lines = source.split(separator: "\n", omittingEmptySubsequences: false)[...]
      while let line = lines.popFirst() {
        let isMember = line.hasPrefix(" ")
        var text = line.drop { $0 == " " }
        if text.hasPrefix("// https://") {
          (page, systems) = (String(text.dropFirst(3)), [])
          continue
        }
        if text.hasPrefix("@available("), let attribute = text.prefixMatch(of: /@available\(([^)]*)\)/) {
          let parts = attribute.1.split(separator: ",").map { $0.drop { $0 == " " } }
          systems += parts.last == "unavailable" ? ["not \(parts[0])"] : parts.dropLast().map(String.init)
          continue
        }
        while let attribute = text.prefixMatch(of: #/@\w+(\([^)]*\))? /#) { text = text[attribute.range.upperBound...] }
        let type = /(open|public|extension) .*/
        if isMember ? isMemberDeclaration(text) : text.wholeMatch(of: type) != nil && !text.contains("import ") {
          // A signature may have several lines.
          var signature = String(text)
          while signature.count(where: { $0 == "(" }) > signature.count(where: { $0 == ")" }),
            let next = lines.popFirst()
          {
            signature += " " + next.drop { $0 == " " }
          }
          if isMember {
            let body = signature.firstRange(of: " {").map { signature[..<$0.lowerBound] } ?? signature[...]
            let shown = body.replacing(#/\b(open|public) /#, with: "").replacing("( ", with: "(")
              .replacing(" )", with: ")")
            declarations.append(
              Declaration(text: String(shown), systems: systems.joined(separator: ", "), page: page ?? pageOfType))
          } else {
            let keyword = signature.firstMatch(of: /(class|struct|enum|protocol|func|let|typealias|extension) \w+/)
            declarations.append(
              Declaration(
                text: keyword.map { String($0.0) } ?? "", systems: systems.joined(separator: ", "), page: page))
            pageOfType = page
          }
        }
        if !isMember, text == "}" { pageOfType = nil }
        (page, systems) = (nil, [])
      }
      return declarations
    }

    /// True if a line begins the declaration of a member.
    private static func isMemberDeclaration(_ line: Substring) -> Bool {
      let modifiers: Set<Substring> = [
        "open", "public", "override", "convenience", "required", "static", "class", "weak", "nonmutating",
      ]
      let keywords: Set<Substring> = [
        "var", "let", "func", "init", "subscript", "case", "class", "struct", "enum", "typealias", "associatedtype",
      ]
      let words = line.split(separator: " ").map { $0.prefix { $0.isLetter } }
      guard let word = words.first(where: { !modifiers.contains($0) }) else { return false }
      // `class` is also a modifier.
      return keywords.contains(word) || words.dropFirst().first == "class"
    }

    /// The sources in a folder of the package, by the names of their files.
    static func sources(in folder: String = "Sources/StillwireApple") throws -> [String: String] {
      let place = root.appending(path: folder)
      var sources: [String: String] = [:]
      for name in try FileManager.default.contentsOfDirectory(atPath: place.path) where name.hasSuffix(".swift") {
        sources[name] = try String(contentsOf: place.appending(path: name), encoding: .utf8)
      }
      return sources
    }

    /// The sources in a folder of the package and below it, by the names of their files. These names are unique.
    static func sources(below folder: String) throws -> [String: String] {
      let place = root.appending(path: folder)
      var sources: [String: String] = [:]
      for path in try FileManager.default.subpathsOfDirectory(atPath: place.path)
      where path.hasSuffix(".swift") && !path.contains(".docc/") {
        let file = place.appending(path: path)
        precondition(sources[file.lastPathComponent] == nil, "two files have the name \(file.lastPathComponent)")
        sources[file.lastPathComponent] = try String(contentsOf: file, encoding: .utf8)
      }
      return sources
    }

    /// Compiles the stand-ins that only the clients need.
    func compileStandInsOfClients(_ arguments: [String]) async throws {
      for name in Self.namesOfClients { try await compileStandIn(name, arguments) }
    }

    /// Compiles a module through SIL, for the minimum version and for each version that a condition has. Later modules
    /// can import it. Throws ``Failure``.
    /// - Parameters:
    ///   - mode: The language mode, 5 or 6.
    ///   - arguments: Further arguments of the compiler.
    func compile(_ sources: [String: String], as module: String, mode: Int, _ arguments: [String] = []) async throws {
      let conditions = sources.values.flatMap { $0.matches(of: /#available\(([^)]*)\)/).map(\.1) }
      let versions = conditions.compactMap { version(in: $0) }.filter { $0 > deployment }
      // The module that later modules import is that of the minimum version. In mode 5, newer branches have no check of
      // their own: mode 6 rejects more.
      for version in (mode == 6 ? Set(versions).sorted(by: >) : []) + [deployment] {
        try await compile(sources, as: module, mode: mode, for: version, arguments)
      }
    }

    private func compile(
      _ sources: [String: String], as module: String, mode: Int, for version: Double, _ arguments: [String]
    ) async throws {
      let place = folder.appending(path: "\(module)-sources-\(mode)")
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      var files: [String] = []
      for (name, source) in sources {
        let file = place.appending(path: name)
        try rewritten(source, for: version).write(to: file, atomically: true, encoding: .utf8)
        files.append(file.path)
      }
      let all = [
        "swiftc", "-swift-version", "\(mode)", "-warnings-as-errors", "-parse-as-library", "-wmo",
        "-no-emit-module-separately-wmo", "-emit-sil", "-o", place.appending(path: "\(module).sil").path,
        "-emit-module", "-emit-module-path",
        folder.appending(path: "\(module).swiftmodule").path, "-module-name", module, "-D", "SYSTEM_\(system.rawValue)",
        // The name with which SwiftPM compiled the modules of the build.
        "-package-name", Self.root.lastPathComponent.lowercased(),
      ]
      let places = imported + [folder, Self.root.appending(path: ".build/debug/Modules")]
      try await run(all + places.flatMap { ["-I", $0.path] } + arguments + files.sorted())
    }

    /// Runs a program. Throws ``Failure``.
    private func run(_ arguments: [String]) async throws {
      let (hasSucceeded, output) = try await ChildProcess.run(arguments)
      guard hasSucceeded else { throw Failure(description: output) }
    }

    /// Replaces the conditions and attributes for Apple's systems.
    private func rewritten(_ source: String, for version: Double) throws -> String {
      try selected(source[...], for: version).replacing(/\bos\((\w+)\)/) { "SYSTEM_\($0.1)" }
        .replacing(/@available\(([^)]*)\)/) { match in
          let parts = match.1.split(separator: ",").map { $0.split(separator: " ").map(String.init) }
          let own = parts.first { $0.first == system.rawValue }
          if parts.last == ["unavailable"] {
            return parts[0] == ["*"] || own != nil ? "@available(*, unavailable)" : ""
          }
          guard let own, let needed = Double(own[1]), needed > version else { return "" }
          return "@available(*, unavailable, message: \"needs \(own.joined(separator: " "))\")"
        }
    }

    /// Replaces each `if #available(…)` by the branch that this version runs. Braces in texts must be balanced.
    private func selected(_ source: Substring, for version: Double) throws -> String {
      guard let condition = source.firstMatch(of: /#available\(([^)]*)\)/) else { return String(source) }
      guard let start = source[..<condition.range.lowerBound].firstMatch(of: /if\s+$/),
        let body = block(source[condition.range.upperBound...])
      else { throw Failure(description: "the check supports #available only as the whole condition of `if`") }
      var (rest, other) = (source[body.endIndex...], ""[...])
      var isChain = false
      if let keyword = rest.prefixMatch(of: /\s*else\s*/) {
        rest = rest[keyword.range.upperBound...]
        isChain = rest.hasPrefix("if")
        if let branch = block(rest) { (other, rest) = (branch, rest[branch.endIndex...]) }
      }
      let isMet = (self.version(in: condition.1) ?? 0) <= version
      let before = String(source[..<start.range.lowerBound])
      if isChain {
        guard !isMet else { throw Failure(description: "the check does not support `else if` after #available") }
        return try before + selected(rest, for: version)
      }
      let branch = isMet ? body : other
      return try before + (branch.isEmpty ? "" : "if true " + selected(branch, for: version))
        + selected(rest, for: version)
    }

    /// The block in braces with which the text begins.
    private func block(_ text: Substring) -> Substring? {
      guard let start = text.prefixMatch(of: /\s*{/) else { return nil }
      var depth = 0
      for index in text[start.range.lowerBound...].indices {
        if text[index] == "{" { depth += 1 }
        guard text[index] == "}" else { continue }
        depth -= 1
        if depth == 0 { return text[start.range.lowerBound...index] }
      }
      return nil
    }

    /// The version of this system in a list such as `iOS 17, macOS 14, *`.
    private func version(in list: Substring) -> Double? {
      let parts = list.split(separator: ",").map { $0.split(separator: " ") }
      return parts.first { $0.first == system.rawValue[...] }.flatMap { Double($0[1]) }
    }
  }
#endif
