package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/web/api"
)

// What a terminal is told around the pictures (ECMA-48 and xterm's private
// modes): a screen of our own without a cursor, and the former one back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	beginFrame  = "\x1b[?2026h\x1b[H" // nothing shows until the end of it, where that is known
	endOfLine   = "\x1b[K"
	endFrame    = "\x1b[J\x1b[?2026l"
)

// A watchFrame is a picture of what was seen, for a screen of so many columns
// and lines.
type watchFrame struct {
	watched
	zone           *time.Location
	colours        bool
	columns, lines int
}

// screen is the picture as a terminal takes it, over the one before.
func (f watchFrame) screen() string {
	var b strings.Builder
	b.WriteString(beginFrame)
	for i, l := range f.picture() {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l.in(f.colours) + endOfLine)
	}
	b.WriteString(endFrame)
	return b.String()
}

// text is the picture without anything for a terminal.
func (f watchFrame) text() string {
	var b strings.Builder
	for _, l := range f.picture() {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// A line of a picture has one look.
type line struct {
	text string
	tone tone
}

type tone string

// The looks of a line, as SGR.
const (
	toneUsual   tone = ""
	toneHeading tone = "1"
	toneFaint   tone = "2"
	toneDead    tone = "33" // it becomes a dead letter, or did
	toneLost    tone = "31" // it is lost, or was
)

func (l line) in(colours bool) string {
	if !colours || l.tone == toneUsual {
		return l.text
	}
	return "\x1b[" + string(l.tone) + "m" + l.text + "\x1b[0m"
}

// picture is at most as many lines as there are, none longer than the screen is
// wide. Where there is little room, the end is left out first; entities and what
// expires next leave some to the events.
func (f watchFrame) picture() []line {
	var all []line
	add := func(t tone, format string, args ...any) {
		all = append(all, line{cutTo(fmt.Sprintf(format, args...), f.columns), t})
	}
	add(toneHeading, "Mayfly  %s  %s", f.at, f.now.In(f.zone).Format(time.TimeOnly))
	if f.away != nil {
		add(toneLost, "%s; trying again", f.away)
	} else {
		add(toneUsual, "%s", countsText(f.totals()))
	}
	room := max(2, f.lines-fixedLines)
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

// fixedLines are those of a picture that no entity, message or event has.
const fixedLines = 12

type adder func(t tone, format string, args ...any)

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

// addEntities shows those with the most messages.
func (f watchFrame) addEntities(add adder, most int) {
	const numbers = 8 * 5
	all := slices.Clone(f.entities)
	slices.SortStableFunc(all, func(a, b api.Entity) int { return cmp.Compare(messagesIn(b.Counts), messagesIn(a.Counts)) })
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
		add(toneUsual, "%-*s%8d%8d%8d%8d%8d", wide, cutTo(e.Path, wide), n.Active, n.Locked, n.Deferred, n.Scheduled, n.DeadLetter)
	}
	if len(all) == 0 {
		add(toneFaint, "There is no queue, topic or subscription.")
	}
}

// addHorizon shows how many messages expire within which time.
func (f watchFrame) addHorizon(add adder) {
	names, kept, gone := "EXPIRE WITHIN", "dead-letter", "lost"
	row := func(text string, value any) string { return fmt.Sprintf("%s%7v", text, value) }
	names, kept, gone = fmt.Sprintf("%-14s", names), fmt.Sprintf("%-14s", kept), fmt.Sprintf("%-14s", gone)
	for _, s := range f.horizon.Spans {
		names, kept, gone = row(names, within(s.Within)), row(kept, s.DeadLetter), row(gone, s.Lost)
	}
	add(toneHeading, "%s", names)
	add(toneDead, "%s", kept)
	add(toneLost, "%s", gone)
}

// within is a span's end for people.
func within(text string) string {
	if text == "" {
		return "later"
	}
	return strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(text, "P"), "T"))
}

func (f watchFrame) addNext(add adder, most int) {
	add(toneHeading, "NEXT TO EXPIRE")
	for _, m := range f.horizon.Next[:min(len(f.horizon.Next), most)] {
		left, fate, t := until(f.now, &m.ExpiresAt), "is lost", toneLost
		if m.DeadLetter {
			fate, t = "becomes a dead letter", toneDead
		}
		text := fmt.Sprintf("%8s  %s  #%d", left, m.Path, m.SequenceNumber)
		if m.MessageID != "" {
			text += "  id " + printable(m.MessageID, 40)
		}
		add(t, "%s  %s", text, fate)
	}
	if len(f.horizon.Next) == 0 {
		add(toneFaint, "Nothing expires.")
	}
}

func (f watchFrame) addEvents(add adder, most int) {
	add(toneHeading, "EVENTS")
	if f.silent {
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

// cutTo shortens text to so many columns.
func cutTo(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}
	return string(runes[:columns-1]) + "…"
}
