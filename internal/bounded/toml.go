package bounded

import "bytes"

// TOML returns an error if a TOML text exceeds a limit.
func TOML(text []byte, limits Limits) error {
	s := tomlScanner{text: text, limits: limits.withDefaults()}
	for ; s.at < len(text); s.at++ {
		if err := s.next(); err != nil {
			return err
		}
	}
	return nil
}

// tomlScanner counts the nodes of a text, and the depth: each part of a dotted key is a map, and so is each part of the
// name of the table that the key is in.
type tomlScanner struct {
	text   []byte
	limits Limits
	at     int
	nodes  int
	// table is the depth of the current table. outer are the depths of the keys of all open brackets, and outside is
	// their sum. key is the depth of the current key.
	table   int
	outer   []int
	outside int
	key     int
}

// next reads the character, the string or the comment at the current offset.
func (s *tomlScanner) next() error {
	switch s.text[s.at] {
	case '"', '\'':
		s.skipString()
	case '#':
		if end := bytes.IndexByte(s.text[s.at:], '\n'); end >= 0 {
			s.at += end - 1
		} else {
			s.at = len(s.text)
		}
	case '\n':
		if len(s.outer) == 0 {
			s.key = 0
		}
	case '[', '{':
		s.open()
		return s.count()
	case ']', '}':
		s.close()
	case '.':
		s.key++
		return s.count()
	case ',':
		s.key = 0
		return s.count()
	case '=':
		return s.count()
	}
	return nil
}

func (s *tomlScanner) open() {
	if len(s.outer) == 0 && len(bytes.TrimSpace(s.text[bytes.LastIndexByte(s.text[:s.at], '\n')+1:s.at])) == 0 {
		// The line is the header of a table.
		s.table = 0
	}
	s.outer = append(s.outer, s.key)
	s.outside += s.key + 1
	s.key = 0
}

func (s *tomlScanner) close() {
	last := len(s.outer) - 1
	if last < 0 {
		return
	}
	if s.outside == last+1 && s.table == 0 {
		s.table = s.key + 1
	}
	s.key = s.outer[last]
	s.outside -= s.key + 1
	s.outer = s.outer[:last]
}

// count counts a character that begins a node or two.
func (s *tomlScanner) count() error {
	if s.table+s.outside+s.key > s.limits.Depth {
		return tooDeep(lineAt(s.text, s.at), s.limits.Depth)
	}
	if s.nodes += 2; s.nodes > 2*s.limits.Nodes {
		return tooMany(lineAt(s.text, s.at), s.limits.Nodes)
	}
	return nil
}

// skipString moves to the last quotation mark of the string at the current offset.
func (s *tomlScanner) skipString() {
	quote := s.text[s.at]
	long := bytes.Repeat([]byte{quote}, 3)
	if !bytes.HasPrefix(s.text[s.at:], long) {
		for s.at++; s.at < len(s.text) && s.text[s.at] != quote && s.text[s.at] != '\n'; s.at++ {
			if quote == '"' && s.text[s.at] == '\\' {
				s.at++
			}
		}
		return
	}
	for s.at += 3; s.at < len(s.text) && !bytes.HasPrefix(s.text[s.at:], long); s.at++ {
		if quote == '"' && s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at += 2
	// A string of several lines may end with up to two quotation marks.
	for range 2 {
		if s.at+1 < len(s.text) && s.text[s.at+1] == quote {
			s.at++
		}
	}
}
