// SPDX-License-Identifier: Apache-2.0
import CLibCMark

/// A tree of cmark's, and all that is known of cmark here.
final class Document {
  private let tree: OpaquePointer

  /// cmark keeps its extensions in a list of the process, which must be filled once and before it is read.
  private static let hasExtensions: Bool = {
    cmark_gfm_core_extensions_ensure_registered()
    return true
  }()

  init(_ text: String) {
    guard Self.hasExtensions, let table = cmark_find_syntax_extension("table"),
      let parser = cmark_parser_new(CMARK_OPT_DEFAULT)
    else { preconditionFailure("cmark comes with its tables, and ends the process where there is no memory") }
    defer { cmark_parser_free(parser) }
    cmark_parser_attach_syntax_extension(parser, table)
    cmark_parser_feed(parser, text, text.utf8.count)
    tree = cmark_parser_finish(parser)
  }

  deinit { cmark_node_free(tree) }

  /// Valid, with all that is reached from it, as long as the document is.
  var root: Node { Node(pointer: tree) }
}

struct Node {
  fileprivate let pointer: OpaquePointer

  /// As cmark names it: `paragraph`, `table_row`.
  var type: String { String(cString: cmark_node_get_type_string(pointer)) }

  var children: [Node] {
    var children: [Node] = []
    var next = cmark_node_first_child(pointer)
    while let child = next {
      children.append(Node(pointer: child))
      next = cmark_node_next(child)
    }
    return children
  }

  /// From 1.
  var line: Int { Int(cmark_node_get_start_line(pointer)) }
  /// In bytes, from 1.
  var column: Int { Int(cmark_node_get_start_column(pointer)) }

  var literal: String { cmark_node_get_literal(pointer).map { String(cString: $0) } ?? "" }
  /// Of a link or an image.
  var address: String { cmark_node_get_url(pointer).map { String(cString: $0) } ?? "" }
  var headingLevel: Int { Int(cmark_node_get_heading_level(pointer)) }
  /// nil of a list without numbers.
  var listStart: Int? {
    cmark_node_get_list_type(pointer) == CMARK_ORDERED_LIST ? Int(cmark_node_get_list_start(pointer)) : nil
  }
  var isTight: Bool { cmark_node_get_list_tight(pointer) != 0 }
}
