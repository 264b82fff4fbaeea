// SPDX-License-Identifier: Apache-2.0
import Foundation

/// All pages, with every link leading somewhere.
struct Site {
  let plan: Plan
  private(set) var pages: [Page] = []
  /// Files of the checkout that the pages show, by their names in the site's folder.
  private(set) var pictures: [String: String] = [:]

  /// Throws ``Faults`` with everything that is wrong.
  init(_ plan: Plan, from checkout: Checkout) throws(Faults) {
    self.plan = plan
    var sources = Sources(checkout)
    var map = SiteMap()
    for page in plan.pages { pages.append(sources.page(page, &map)) }
    sources.checkNothingIsForgotten(by: plan)
    // Without all pages every link to the missing ones would be one more fault.
    guard sources.faults.isEmpty else { throw Faults(all: sources.faults) }

    var links = LinkResolver(checkout: checkout, map: map)
    for index in pages.indices {
      pages[index].heading = links.resolve(pages[index].heading)
      pages[index].blocks = pages[index].blocks.map { $0.mapTexts { links.resolve($0) } }
    }
    pictures = links.pictures
    guard links.faults.isEmpty else { throw Faults(all: links.faults) }
  }
}
