/* What a reader can do on the page: switch axes, zoom, choose CPUs, search the facts. */
"use strict";

(() => {
	const data = JSON.parse(document.getElementById("data").textContent);
	const { grouped, microseconds } = WhylatePlots;
	const { words } = data;
	const cpus = data.cpus.length;
	const theme = WhylatePlots.readTheme(cpus);
	const shown = data.cpus.map(() => true);
	const histogram = (data) => ({ data, draw: WhylatePlots.histogram,
		log: data.startLog && data.log.edges.length > 1 });
	const plots = {
		histogram: histogram(data),
		timeline: { data, draw: WhylatePlots.timeline, log: data.startLog },
	};
	for (const [name, stage] of Object.entries(data.stages)) plots[name] = histogram(stage);

	for (const [name, plot] of Object.entries(plots)) {
		plot.name = name;
		plot.host = document.getElementById(name);
		/* The stages stand side by side and share a legend: the first of them has it. */
		plot.legend = document.getElementById(
			(name === Object.keys(data.stages)[0] ? "stages" : name) + "-legend");
		plot.buttons = [...document.querySelectorAll(`button[data-plot~="${name}"]`)];
	}

	function build(plot) {
		if (plot.u) plot.u.destroy();
		plot.host.replaceChildren();
		plot.u = plot.draw(plot.host, plot.data, { log: plot.log, shown }, theme);
		const edges = plot.u.data[0];
		plot.limits = [edges[0], edges[edges.length - 1]];
		for (const button of plot.buttons)
			if (button.dataset.scale)
				button.setAttribute("aria-pressed", String((button.dataset.scale === "log") === plot.log));
	}

	function zoom(plot, low, high) {
		const [first, last] = plot.limits;
		low = Math.max(low, first);
		high = Math.min(high, last);
		if (high > low) plot.u.setScale("x", { min: low, max: high });
	}

	function showRange(plot, which) {
		const [first, last] = plot.limits;
		const [from, to] = plot.data.body.map((ns) => ns / 1000);
		if (which === "body") zoom(plot, from - (to - from) * 0.15, to + (to - from) * 0.1);
		else if (which === "tail") zoom(plot, to, last);
		else zoom(plot, first, last);
	}

	/* Plus and minus zoom round the middle, arrows move; on a log axis by ratio. */
	function onKey(plot, event) {
		const by = { "+": [0.25, -0.25], "=": [0.25, -0.25], "-": [-0.5, 0.5],
			ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2] }[event.key];
		if (event.key === "0" || event.key === "Escape") showRange(plot, "all");
		else if (by && !event.ctrlKey && !event.metaKey && !event.altKey) {
			const ratio = plot.log && plot !== plots.timeline;
			const to = ratio ? Math.log : (x) => x, back = ratio ? Math.exp : (x) => x;
			const { min, max } = plot.u.scales.x;
			const size = to(max) - to(min), [first, last] = plot.limits.map(to);
			let [low, high] = [to(min) + by[0] * size, to(max) + by[1] * size];
			/* Moving stops at the ends; it does not squeeze the view against them. */
			if (by[0] === by[1]) {
				const shift = Math.max(first - low, 0) || Math.min(last - high, 0);
				[low, high] = [low + shift, high + shift];
			}
			zoom(plot, back(low), back(high));
		} else return;
		event.preventDefault();
	}

	function element(tag, className, text) {
		const made = document.createElement(tag);
		made.className = className;
		if (text) made.textContent = text;
		return made;
	}

	function buildLegend(plot) {
		if (cpus > 4)
			for (const [text, wanted] of [["show all", true], ["hide all", false]]) {
				const button = element("button", "all", text);
				button.type = "button";
				button.addEventListener("click", () => data.cpus.forEach((_, i) => setShown(i, wanted)));
				plot.legend.append(button);
			}
		plot.swatches = data.cpus.map((cpu, i) => {
			const button = element("button", "");
			button.type = "button";
			const swatch = element("span", "swatch");
			button.append(swatch, "CPU " + cpu);
			button.addEventListener("click", () => setShown(i, !shown[i]));
			plot.legend.append(button);
			return { button, swatch };
		});
		const key = (className, sign, text) => {
			const made = element("span", "key");
			made.append(element("span", className, sign), text);
			plot.legend.append(made);
		};
		if (plot.data.time && data.time.overrun.some(([at]) => at.length))
			key("late", "▲", plot === plots.histogram ? "holds overruns" : "overruns: at least this");
		if (plot === plots.timeline && data.time.band) key("band", "", "p50 to p99, all CPUs");
	}

	function setShown(i, wanted) {
		shown[i] = wanted;
		for (const plot of Object.values(plots)) {
			const series = plot.u.series.findIndex((s) => s.label === "CPU " + data.cpus[i]);
			plot.u.setSeries(series, { show: wanted });
		}
		paintLegends();
	}

	function paintLegends() {
		for (const plot of Object.values(plots))
			plot.swatches?.forEach(({ button, swatch }, i) => {
				button.setAttribute("aria-pressed", String(shown[i]));
				swatch.style.background = theme.cpu[i];
			});
	}

	function repaint() {
		Object.assign(theme, WhylatePlots.readTheme(cpus));
		paintLegends();
		for (const plot of Object.values(plots)) plot.u.redraw(false, true);
	}

	function resize(width) {
		for (const plot of Object.values(plots)) {
			const wide = width || Math.max(240, plot.host.clientWidth);
			if (wide !== plot.u.width) plot.u.setSize({ width: wide, height: wide < 560 ? 300 : 400 });
		}
	}

	const capital = (word) => word[0].toUpperCase() + word.slice(1);
	const worst = () => `${words.worst} ${words.quantity}`;

	function writeNotesOf({ name, log, data }, hint) {
		const width = grouped(data.linear.width / 1000);
		document.getElementById(name + "-caption").textContent = capital(words.counted) + " per bin, " +
			(log ? "bins of equal ratio" : `bins of ${width} µs`) +
			"." + hint;
		const below = data.log.below.reduce((a, b) => a + b, 0);
		document.getElementById(name + "-note").textContent = log && below
			? `${grouped(below, 0)} ${below === 1 ? words.counted.slice(0, -1) + " lies" : words.counted + " lie"} left of this axis, at zero, ` +
				"below it or nearly so: the linear axis shows them."
			: "";
	}

	function writeNotes() {
		const hint = matchMedia("(pointer: coarse)").matches ? " Tap to read."
			: " Drag to zoom, double-click to reset.";
		for (const plot of Object.values(plots))
			if (plot !== plots.timeline) writeNotesOf(plot, plot === plots.histogram ? hint : "");
		const never = data.time.max.reduce((n, column) => n + column.filter((ns) => ns != null && ns <= 0).length, 0);
		document.getElementById("timeline-note").textContent = plots.timeline.log && never
			? `${grouped(never, 0)} stretches whose ${worst()} is zero or negative stand only on the linear axis.`
			: "";
		if (!data.log.edges.length && !data.linear.steps.some((steps) => steps.length)) {
			for (const name of Object.keys(plots))
				document.getElementById(name + "-caption").textContent = `No ${words.counted.slice(0, -1)} was recorded.`;
			return;
		}
		const each = data.time.width / 1e9;
		document.getElementById("timeline-caption").textContent =
			`${capital(words.quantity)} in µs, the ${words.worst} of every ${each >= 1 ? +each.toFixed(2) + " s" : +(each * 1000).toFixed(1) + " ms"}.` + hint;
	}

	function watchFacts() {
		const field = document.getElementById("fact-search");
		if (!field) return;
		const count = document.getElementById("fact-count");
		const groups = [...document.querySelectorAll("details.facts")].map((group) => ({
			group, rows: [...group.querySelectorAll("tbody tr")].map((row) => ({
				row, text: row.textContent.toLowerCase() })) }));
		field.addEventListener("input", () => {
			const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
			let matches = 0;
			for (const { group, rows } of groups) {
				let here = 0;
				for (const { row, text } of rows) {
					row.hidden = !words.every((word) => text.includes(word));
					here += row.hidden ? 0 : 1;
				}
				group.hidden = !here;
				group.open = words.length > 0 && here > 0;
				matches += here;
			}
			count.textContent = words.length ? `${grouped(matches, 0)} found` : "";
		});
	}

	for (const plot of Object.values(plots)) {
		build(plot);
		if (plot.legend) buildLegend(plot);
		plot.host.addEventListener("keydown", (event) => onKey(plot, event));
		for (const button of plot.buttons)
			button.addEventListener("click", () => {
				if (button.dataset.range) return showRange(plot, button.dataset.range);
				plot.log = button.dataset.scale === "log";
				if (plot !== plots.timeline && !plot.data.log.edges.length) plot.log = false;
				build(plot);
				writeNotes();
			});
	}
	paintLegends();
	writeNotes();
	watchFacts();
	new ResizeObserver(() => resize()).observe(document.querySelector("main"));
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
	addEventListener("beforeprint", () => {
		document.documentElement.dataset.print = "";
		repaint();
		resize(660);
	});
	addEventListener("afterprint", () => {
		delete document.documentElement.dataset.print;
		repaint();
		resize();
	});
})();
