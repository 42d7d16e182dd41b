package client

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

// Control sequences around the pictures (ECMA-48 and xterm's private modes): they switch to
// the alternate screen without a cursor, and back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	beginFrame  = "\x1b[?2026h\x1b[H" // the terminal shows nothing until the end of the frame, if it supports that
	endOfLine   = "\x1b[K"
	endFrame    = "\x1b[J\x1b[?2026l"
)

// A watchFrame draws the result of a poll for a screen of a given size.
type watchFrame struct {
	pollResult
	zone           *time.Location
	colours        bool
	columns, lines int
}

// screen returns the picture with control sequences, to draw over the previous one.
func (f watchFrame) screen() string {
	var b strings.Builder
	b.WriteString(beginFrame)
	for i, l := range f.frameLines() {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l.render(f.colours) + endOfLine)
	}
	b.WriteString(endFrame)
	return b.String()
}

// text returns the picture without control sequences.
func (f watchFrame) text() string {
	var b strings.Builder
	for _, l := range f.frameLines() {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// A frameLine is a line of the picture.
type frameLine struct {
	text string
	tone tone
}

type tone string

// Tones of a line, as SGR parameters.
const (
	toneUsual   tone = ""
	toneHeading tone = "1"
	toneFaint   tone = "2"
	toneDead    tone = "33" // messages that are or will be dead-lettered
	toneLost    tone = "31" // messages that are or will be lost, and errors
)

func (l frameLine) render(colours bool) string {
	if !colours || l.tone == toneUsual {
		return l.text
	}
	return "\x1b[" + string(l.tone) + "m" + l.text + "\x1b[0m"
}

// frameLines returns at most f.lines lines, none wider than the screen. It limits the numbers of
// entities and of the next messages to expire, so that there is room for events, and cuts the end
// if there are still too many lines.
func (f watchFrame) frameLines() []frameLine {
	var all []frameLine
	add := func(t tone, format string, args ...any) {
		all = append(all, frameLine{truncate(fmt.Sprintf(format, args...), f.columns), t})
	}
	add(toneHeading, "Mayfly  %s  %s", f.server, f.now.In(f.zone).Format(time.TimeOnly))
	if f.pollError != nil {
		add(toneLost, "%s; trying again", f.pollError)
	} else {
		add(toneUsual, "%s", describeCounts(f.totals()))
	}
	room := max(2, f.lines-fixedLineCount)
	add(toneUsual, "")
	f.addEntities(add, max(1, room/3))
	add(toneUsual, "")
	f.addHorizon(add)
	add(toneUsual, "")
	f.addNext(add, max(1, room/4))
	add(toneUsual, "")
	f.addEvents(add, f.lines-len(all)-1)
	return all[:min(len(all), max(1, f.lines))]
}

// fixedLineCount is the number of lines of a picture other than entities, messages and events.
const fixedLineCount = 12

type addLine func(t tone, format string, args ...any)

func (f watchFrame) totals() (sum api.Counts) {
	for _, e := range f.entities {
		sum.Active += e.Counts.Active
		sum.Locked += e.Counts.Locked
		sum.Deferred += e.Counts.Deferred
		sum.Scheduled += e.Counts.Scheduled
		sum.DeadLetter += e.Counts.DeadLetter
	}
	return sum
}

// addEntities adds a line for each of the `most` entities with the most messages.
func (f watchFrame) addEntities(add addLine, most int) {
	const numbers = 8 * 5
	all := slices.Clone(f.entities)
	slices.SortStableFunc(all, func(a, b api.Entity) int { return cmp.Compare(totalMessages(b.Counts), totalMessages(a.Counts)) })
	wide := 12
	for _, e := range all[:min(len(all), most)] {
		wide = max(wide, utf8.RuneCountInString(e.Path))
	}
	wide = max(12, min(wide, f.columns-numbers))
	name := "ENTITY"
	if len(all) > most {
		name = fmt.Sprintf("ENTITY (%d of %d)", most, len(all))
	}
	add(toneHeading, "%-*s%8s%8s%8s%8s%8s", wide, name, "ACTIVE", "LOCKED", "DEFERD", "SCHED", "DEAD")
	for _, e := range all[:min(len(all), most)] {
		n := e.Counts
		add(toneUsual, "%-*s%8d%8d%8d%8d%8d", wide, truncate(e.Path, wide), n.Active, n.Locked, n.Deferred, n.Scheduled, n.DeadLetter)
	}
	if len(all) == 0 {
		add(toneFaint, "There is no queue, topic or subscription.")
	}
}

// addHorizon adds the number of messages that expire in each span of time.
func (f watchFrame) addHorizon(add addLine) {
	names, kept, gone := "EXPIRE WITHIN", "dead-letter", "lost"
	row := func(text string, value any) string { return fmt.Sprintf("%s%7v", text, value) }
	names, kept, gone = fmt.Sprintf("%-14s", names), fmt.Sprintf("%-14s", kept), fmt.Sprintf("%-14s", gone)
	for _, s := range f.horizon.Spans {
		names, kept, gone = row(names, formatSpan(s.Within)), row(kept, s.DeadLetter), row(gone, s.Lost)
	}
	add(toneHeading, "%s", names)
	add(toneDead, "%s", kept)
	add(toneLost, "%s", gone)
}

// formatSpan formats the end of a span of time, an ISO 8601 duration, such as "1h" for PT1H. It
// returns "later" for the last span, which has no end.
func formatSpan(text string) string {
	if text == "" {
		return "later"
	}
	return strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(text, "P"), "T"))
}

func (f watchFrame) addNext(add addLine, most int) {
	add(toneHeading, "NEXT TO EXPIRE")
	for _, m := range f.horizon.Next[:min(len(f.horizon.Next), most)] {
		left, fate, t := timeUntil(f.now, &m.ExpiresAt), "is lost", toneLost
		if m.DeadLetter {
			fate, t = "becomes a dead letter", toneDead
		}
		text := fmt.Sprintf("%8s  %s  #%d", left, m.Path, m.SequenceNumber)
		if m.MessageID != "" {
			text += "  id " + cli.Printable(m.MessageID, 40)
		}
		add(t, "%s  %s", text, fate)
	}
	if len(f.horizon.Next) == 0 {
		add(toneFaint, "Nothing expires.")
	}
}

func (f watchFrame) addEvents(add addLine, most int) {
	add(toneHeading, "EVENTS")
	if f.noHistory {
		add(toneFaint, "The store keeps no history.")
	}
	for _, e := range f.events[:max(0, min(len(f.events), most))] {
		t := toneUsual
		switch e.Kind {
		case "expired":
			t = toneLost
		case "dead-lettered":
			t = toneDead
		}
		add(t, "%s", e.line(f.zone))
	}
}

// truncate shortens text to a number of columns.
func truncate(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}
	return string(runes[:columns-1]) + "…"
}
