/* The two plots: data from the page's JSON block in, uPlot instances out. Colours come from the
 * style sheet's variables alone, so that a change of scheme needs a redraw and nothing else. */
"use strict";

const WhylatePlots = (() => {
	const FEW_CPUS = 8;

	const variable = (name) =>
		getComputedStyle(document.documentElement).getPropertyValue(name).trim();

	/* Eight chosen colours; beyond them a ramp of hue and lightness, dark violet to light yellow. */
	function cpuColour(at, cpus) {
		if (cpus <= FEW_CPUS)
			return variable("--cpu" + at);
		const part = at / (cpus - 1);
		const dark = parseFloat(variable("--ramp-dark"));
		const light = parseFloat(variable("--ramp-light"));
		return `hsl(${Math.round(285 - 245 * part)} ${variable("--ramp-colour")} ` +
			`${Math.round(dark + (light - dark) * part)}%)`;
	}

	function readTheme(cpus) {
		return {
			text: variable("--soft"), grid: variable("--grid"), late: variable("--late"),
			band: variable("--band"), mark: variable("--mark"), card: variable("--card"),
			cpu: Array.from({ length: cpus }, (_, at) => cpuColour(at, cpus)),
		};
	}

	/* Numbers */
	const grouped = (n, decimals) => n.toLocaleString("en-US", {
		minimumFractionDigits: decimals ?? 0, maximumFractionDigits: decimals ?? 3 });
	const minus = (text) => text.replace("-", "−");

	function microseconds(us) {
		const size = Math.abs(us);
		return minus(Number.isInteger(us) ? grouped(us, 0)
			: grouped(us, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : 3));
	}

	function short(n) {
		if (n >= 1e9) return n / 1e9 + "G";
		if (n >= 1e6) return n / 1e6 + "M";
		return n >= 1e4 ? n / 1e3 + "k" : grouped(n, 0);
	}

	/* Seconds in a short run; min:s or h:min:s in a longer one, whatever part of it is shown. */
	function clock(seconds, total) {
		const exact = +seconds.toFixed(3);
		if (total < 240) return minus(String(exact));
		const whole = Math.floor(exact);
		const two = (n) => String(Math.floor(n)).padStart(2, "0");
		const part = exact === whole ? "" : (exact - whole).toFixed(3).slice(1).replace(/0+$/, "");
		const head = total < 3600 ? String(Math.floor(whole / 60))
			: Math.floor(whole / 3600) + ":" + two(whole % 3600 / 60);
		return head + ":" + two(whole % 60) + part;
	}

	const clockUnit = (total) => total < 240 ? "s" : total < 3600 ? "min:s" : "h:min:s";

	/* Ticks of a logarithmic axis: uPlot's own vanish once less than a decade is shown. */
	function logTicks(low, high, many) {
		const decades = Math.log10(high / low);
		if (!(decades > 0)) return [low];
		if (decades < 1) {
			const rough = (high - low) / (many ? 7 : 4);
			const power = 10 ** Math.floor(Math.log10(rough));
			const step = power * ([1, 2, 5].find((m) => m * power >= rough) || 10);
			const ticks = [];
			for (let k = Math.ceil(low / step); k * step <= high; k++)
				ticks.push(+(k * step).toPrecision(12));
			return ticks;
		}
		const multiples = decades < (many ? 4 : 2.2) ? [1, 2, 5] : [1];
		const ticks = [];
		for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
			for (const m of multiples) {
				const tick = +(m * 10 ** e).toPrecision(3);
				if (tick >= low && tick <= high) ticks.push(tick);
			}
		return ticks;
	}

	const font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif";

	function axis(theme, options) {
		return Object.assign({
			font, stroke: () => theme.text, labelFont: font, labelGap: 2, labelSize: 20,
			grid: { stroke: () => theme.grid, width: 1 },
			ticks: { stroke: () => theme.grid, width: 1, size: 5 },
		}, options);
	}

	/* The index of the bin that holds x: the last edge at or below it. */
	function binAt(edges, x) {
		let low = 0, high = edges.length - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (edges[middle] <= x) low = middle; else high = middle - 1;
		}
		return edges[low] <= x ? low : -1;
	}

	/* Bins of all CPUs side by side: edges in µs, counts per CPU, overruns per bin. */
	function linearColumns(linear) {
		const unit = linear.width / 1000;
		const own = linear.steps.map((steps) => {
			let at = 0;
			return steps.map((step) => (at += step));
		});
		/* A filled bin needs the edge after it, where the line comes down again. */
		const wanted = new Set();
		for (const bins of own)
			for (const bin of bins) wanted.add(bin).add(bin + 1);
		const bins = [...wanted].sort((a, b) => a - b);
		const place = new Map(bins.map((bin, at) => [bin, at]));
		const counts = own.map((mine, cpu) => {
			const column = new Array(bins.length).fill(0);
			mine.forEach((bin, k) => { column[place.get(bin)] = linear.count[cpu][k]; });
			return column;
		});
		const overruns = linear.overrun.map(([at, n], cpu) =>
			new Map(at.map((k, i) => [place.get(own[cpu][k]), n[i]])));
		return { edges: bins.map((bin) => bin * unit), counts, overruns,
			closes: (at) => (bins[at] + 1) * unit };
	}

	function logColumns(log) {
		const edges = log.edges.map((ns) => ns / 1000);
		const counts = log.count.map((column) => [...column, 0]);
		const overruns = log.overrun.map(([at, n]) => new Map(at.map((k, i) => [k, n[i]])));
		return { edges, counts, overruns, closes: (at) => edges[at + 1] };
	}

	function triangle(context, x, y, size) {
		context.beginPath();
		context.moveTo(x, y - size);
		context.lineTo(x + size * 0.8, y + size * 0.6);
		context.lineTo(x - size * 0.8, y + size * 0.6);
		context.closePath();
	}

	/* Draws inside the plot's frame only. */
	function within(u, draw) {
		const { ctx, bbox } = u;
		ctx.save();
		ctx.beginPath();
		ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
		ctx.clip();
		draw(ctx, bbox, devicePixelRatio || 1);
		ctx.restore();
	}

	function drawMarks(u, theme, marks) {
		within(u, (ctx, box, ratio) => {
			ctx.font = `${11.5 * ratio}px system-ui, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif`;
			ctx.textBaseline = "top";
			ctx.textAlign = "left";
			marks.forEach((mark, row) => {
				const us = mark.ns / 1000;
				if (us < u.scales.x.min || us > u.scales.x.max) return;
				const x = Math.round(u.valToPos(us, "x", true));
				ctx.strokeStyle = theme.mark;
				ctx.lineWidth = ratio;
				ctx.setLineDash([3 * ratio, 3 * ratio]);
				ctx.beginPath();
				ctx.moveTo(x, box.top);
				ctx.lineTo(x, box.top + box.height);
				ctx.stroke();
				ctx.setLineDash([]);
				const width = ctx.measureText(mark.name).width;
				const right = x + width + 8 * ratio < box.left + box.width;
				const left = right ? x + 4 * ratio : x - width - 4 * ratio;
				const top = box.top + (3 + 15 * row) * ratio;
				ctx.fillStyle = theme.card;
				ctx.fillRect(left - 2 * ratio, top - ratio, width + 4 * ratio, 14 * ratio);
				ctx.fillStyle = theme.mark;
				ctx.fillText(mark.name, left, top);
			});
		});
	}

	function tip(host) {
		const box = document.createElement("div");
		box.className = "tip";
		box.hidden = true;
		host.append(box);
		const line = (colour, name, text) => {
			const row = document.createElement("div");
			const swatch = document.createElement("span");
			swatch.className = "swatch";
			if (colour) swatch.style.background = colour;
			const label = document.createElement("span"), value = document.createElement("span");
			label.textContent = name;
			value.textContent = text;
			row.append(swatch, label, value);
			return row;
		};
		return {
			hide() { box.hidden = true; },
			show(u, title, rows) {
				const head = document.createElement("b");
				head.textContent = title;
				box.replaceChildren(head, ...rows.map((row) => line(...row)));
				box.hidden = false;
				const x = u.over.offsetLeft + u.cursor.left, width = box.offsetWidth;
				const right = x + 14 + width <= host.clientWidth;
				box.style.left = Math.max(0, right ? x + 14 : x - 14 - width) + "px";
				box.style.top = Math.max(0, u.over.offsetTop + 10) + "px";
			},
		};
	}

	function common(host, data, theme) {
		return {
			width: Math.max(240, host.clientWidth), height: host.clientWidth < 560 ? 300 : 400,
			padding: [12, 14, 0, 0], legend: { show: false },
			cursor: { y: false, points: { show: false }, drag: { x: true, y: false, dist: 4 } },
		};
	}

	const lineWidth = (cpus) => cpus <= 4 ? 1.5 : cpus <= 12 ? 1.2 : 0.9;
	const stepped = uPlot.paths.stepped({ align: 1 });

	/* Counts over latency. state: { log, shown: [bool per CPU] } */
	function histogram(host, data, state, theme) {
		const columns = state.log ? logColumns(data.log) : linearColumns(data.linear);
		const { edges } = columns;
		const cpus = data.cpus.length;
		const popup = tip(host);

		function point(u) {
			const left = u.cursor.left;
			if (left == null || left < 0 || !edges.length) return popup.hide();
			/* A lone bin is thinner than a pixel when all is shown: take the fullest one near. */
			const near = [-4, 4].map((by) => binAt(edges, u.posToVal(left + by, "x")));
			const here = binAt(edges, u.posToVal(left, "x"));
			const total = (at) => columns.counts.reduce((sum, c, i) => sum + (state.shown[i] ? c[at] : 0), 0);
			let at = here;
			if (at < 0 || !total(at))
				for (let k = Math.max(0, near[0]); k <= near[1]; k++)
					if (at < 0 || total(k) > total(at)) at = k;
			if (at < 0 || !total(at)) return popup.hide();
			const rows = columns.counts.map((c, i) => [c[at], i])
				.filter(([n, i]) => n && state.shown[i]).sort((a, b) => b[0] - a[0]);
			const lines = rows.slice(0, 10).map(([n, i]) =>
				[theme.cpu[i], "CPU " + data.cpus[i], grouped(n, 0)]);
			if (rows.length > 10) lines.push(["", `and ${rows.length - 10} more CPUs`, ""]);
			const late = columns.overruns.reduce((sum, o, i) => sum + (state.shown[i] ? o.get(at) || 0 : 0), 0);
			if (late) lines.push(["", "of these overruns (≥)", grouped(late, 0)]);
			popup.show(u, `${microseconds(edges[at])} to ${microseconds(columns.closes(at))} µs`, lines);
		}

		const u = new uPlot({
			...common(host, data, theme),
			scales: {
				x: { time: false, distr: state.log ? 3 : 1, range: (_, low, high) =>
					low == null ? [1, 10] : low < high ? [low, high] : [low, low + 1] },
				y: { distr: 3, range: (_, low, high) => [0.6, Math.max(12, (high || 1) * 1.8)] },
			},
			axes: [
				axis(theme, { label: `${data.words?.quantity ?? "latency"}, µs`, size: 32, space: 64,
					values: (_, ticks) => ticks.map(microseconds),
					...(state.log && { filter: (_, ticks) => ticks,
						splits: (v, _, low, high) => logTicks(low, high, v.width > 560) }) }),
				axis(theme, { size: 48, filter: (_, ticks) => ticks,
					splits: (_, __, low, high) => logTicks(1, Math.max(high, 10), false),
					values: (_, ticks) => ticks.map(short) }),
			],
			series: [{}, ...data.cpus.map((cpu, i) => ({
				label: "CPU " + cpu, show: state.shown[i], paths: stepped, points: { show: false },
				stroke: () => theme.cpu[i], width: lineWidth(cpus),
				...(cpus <= 4 && { fill: () => translucent(theme.cpu[i], 0.08) }),
			}))],
			hooks: { setCursor: [point], draw: [(v) => {
				drawMarks(v, theme, data.marks);
				within(v, (ctx, box, ratio) => {
					ctx.fillStyle = theme.late;
					const seen = new Set();
					columns.overruns.forEach((o, i) => { if (state.shown[i]) for (const at of o.keys()) seen.add(at); });
					for (const at of seen) {
						const x = v.valToPos((edges[at] + columns.closes(at)) / 2, "x", true);
						triangle(ctx, x, box.top + box.height - 4 * ratio, 4.5 * ratio);
						ctx.fill();
					}
				});
			}] },
		}, [edges, ...columns.counts], host);
		u.root.addEventListener("mouseleave", popup.hide);
		return u;
	}

	function translucent(colour, alpha) {
		const hex = /^#(..)(..)(..)$/.exec(colour);
		return hex ? `rgba(${hex.slice(1).map((h) => parseInt(h, 16)).join(",")},${alpha})` : "transparent";
	}

	/* The worst latency of each stretch of the run. */
	function timeline(host, data, state, theme) {
		const time = data.time, cpus = data.cpus.length;
		const seconds = Array.from({ length: time.bins + 1 }, (_, i) => i * time.width / 1e9);
		const total = seconds[time.bins];
		const worst = time.max.map((column) => [...column.map((ns) => ns == null ? null : ns / 1000), null]);
		const overruns = time.overrun.map(([at, n]) => new Map(at.map((k, i) => [k, n[i]])));
		const spread = (values) => seconds.map((_, i) => {
			const ns = values[Math.min(Math.floor(i / time.band.each), values.length - 1)];
			return ns == null ? null : ns / 1000;
		});
		const band = time.band ? [spread(time.band.p99), spread(time.band.p50)] : [];
		const popup = tip(host);

		function point(u) {
			const left = u.cursor.left;
			if (left == null || left < 0) return popup.hide();
			const at = Math.min(binAt(seconds, u.posToVal(left, "x")), time.bins - 1);
			if (at < 0) return popup.hide();
			const rows = worst.map((column, i) => [column[at], i])
				.filter(([us, i]) => us != null && state.shown[i]).sort((a, b) => b[0] - a[0]);
			if (!rows.length) return popup.hide();
			const lines = rows.slice(0, 8).map(([us, i]) => [theme.cpu[i], "CPU " + data.cpus[i],
				`${microseconds(us)} µs${overruns[i].has(at) ? `, ${overruns[i].get(at)} overruns` : ""}`]);
			if (rows.length > 8) lines.push(["", `and ${rows.length - 8} more CPUs`, ""]);
			if (band.length && band[0][at] != null)
				lines.push([theme.band, "p50 to p99, all", `${microseconds(band[1][at])} to ${microseconds(band[0][at])} µs`]);
			popup.show(u, `at ${clock(seconds[at], total)} ${clockUnit(total)}`, lines);
		}

		const u = new uPlot({
			...common(host, data, theme),
			scales: {
				x: { time: false, range: (_, low, high) => low < high ? [low, high] : [low, low + 1] },
				y: { distr: state.log ? 3 : 1, range: (_, low, high) => {
					if (low == null) return [1, 10];
					if (state.log) return [Math.max(low, 0.1) / 1.4, Math.max(high, 0.2) * 1.5];
					return [Math.min(0, low * 1.1), Math.max(high * 1.08, 1)];
				} },
			},
			axes: [
				axis(theme, { space: 60, size: 32, label: "time, " + clockUnit(total),
					incrs: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60,
						120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800],
					values: (_, ticks) => ticks.map((s) => clock(s, total)) }),
				axis(theme, { size: 58, values: (_, ticks) => ticks.map(microseconds),
					...(state.log && { filter: (_, ticks) => ticks,
						splits: (_, __, low, high) => logTicks(low, high, false) }) }),
			],
			series: [{}, ...band.map((_, i) => ({ label: ["p99", "p50"][i], paths: stepped, points: { show: false },
				stroke: () => theme.band, width: 1 })),
			...data.cpus.map((cpu, i) => ({
				label: "CPU " + cpu, show: state.shown[i], points: { show: false },
				stroke: () => theme.cpu[i], width: lineWidth(cpus) * 0.85,
			}))],
			...(band.length && { bands: [{ series: [1, 2], fill: () => theme.band }] }),
			hooks: { setCursor: [point], draw: [(v) => within(v, (ctx, box, ratio) => {
				ctx.fillStyle = theme.late;
				ctx.strokeStyle = theme.card;
				ctx.lineWidth = ratio;
				overruns.forEach((o, i) => { if (state.shown[i]) for (const at of o.keys()) {
					triangle(ctx, v.valToPos(seconds[at], "x", true),
						v.valToPos(worst[i][at], "y", true), 6 * ratio);
					ctx.fill();
					ctx.stroke();
				} });
			})] },
		}, [seconds, ...band, ...worst], host);
		u.root.addEventListener("mouseleave", popup.hide);
		return u;
	}

	return { histogram, timeline, readTheme, grouped, microseconds };
})();
