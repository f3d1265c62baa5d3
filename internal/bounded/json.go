package bounded

// JSON counts the nodes of a JSON text, or of a sequence of JSON texts, and returns an error if they exceed a limit. It
// allocates nothing. If the text is not valid JSON, the number has no meaning.
func JSON(text []byte, limits Limits) (int, error) {
	l := limits.withDefaults()
	nodes, depth := 0, 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			continue
		case '}', ']':
			depth--
			continue
		case '{', '[':
			if depth++; depth > l.Depth {
				return nodes, tooDeep(lineAt(text, at), l.Depth)
			}
		case '"':
			at = endOfString(text, at)
		default:
			at = endOfLiteral(text, at)
		}
		if nodes++; nodes > l.Nodes {
			return nodes, tooMany(lineAt(text, min(at, len(text))), l.Nodes)
		}
	}
	return nodes, nil
}

// endOfString returns the offset of the quotation mark that ends the string at the given offset.
func endOfString(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at
}

// endOfLiteral returns the offset of the last byte of a number, true, false or null.
func endOfLiteral(text []byte, at int) int {
	for at+1 < len(text) {
		switch text[at+1] {
		case ' ', '\t', '\r', '\n', ',', ':', '}', ']', '{', '[', '"':
			return at
		}
		at++
	}
	return at
}
