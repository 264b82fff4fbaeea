// SPDX-License-Identifier: Apache-2.0
// The Focus filter: the person chooses the accounts that may notify.
import AppIntents
import Foundation
import StillwireApple

struct Account: AppEntity {
  static let typeDisplayRepresentation: TypeDisplayRepresentation = "Account"
  static let defaultQuery = AccountQuery()
  static let all = [Account(id: "work"), Account(id: "home")]
  let id: String
  var displayRepresentation: DisplayRepresentation { "\(id)" }
}

struct AccountQuery: EntityQuery {
  func entities(for identifiers: [String]) async throws -> [Account] { identifiers.map { Account(id: $0) } }
  func suggestedEntities() async throws -> [Account] { Account.all }
}

struct AccountFilter: SetFocusFilterIntent {
  static let title: LocalizedStringResource = "Accounts"
  @Parameter(title: "Accounts") var accounts: [Account]?
  @Parameter(title: "Only these accounts", default: true) var isOn: Bool

  var labels: [String]? { isOn ? accounts?.map(\.id) : nil }
  var displayRepresentation: DisplayRepresentation { "\(labels?.joined(separator: ", ") ?? "All accounts")" }
  var appContext: FocusFilterAppContext {
    guard let labels else { return FocusFilterAppContext() }
    return FocusFilterAppContext(
      notificationFilterPredicate: NSPredicate(format: "SELF IN %@", argumentArray: [labels]))
  }

  static func suggestedFocusFilters(for context: FocusFilterSuggestionContext) async -> [AccountFilter] {
    Account.all.map { account in
      let filter = AccountFilter()
      filter.accounts = [account]
      return filter
    }
  }

  func perform() async throws -> some IntentResult {
    try await chat.filterReporter.report(allowing: labels)
    return .result()
  }
}
