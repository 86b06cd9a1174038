// Numbers and moments as people read them. Exact values are in the API.

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export const DIMENSIONS = {
  cpu: { title: "CPU", text: (millicores) => `${digits(millicores / 1000)} cores` },
  memory: { title: "Memory", text: bytes },
  gpu: { title: "GPU", text: (devices) => digits(devices) },
  storage: { title: "Storage", text: bytes },
};

function bytes(amount) {
  let step = 0;
  while (amount >= 1024 && step < BINARY.length - 1) {
    amount /= 1024;
    step += 1;
  }
  return `${digits(amount)} ${BINARY[step]}`;
}

export function digits(number) {
  return number.toLocaleString("en", { maximumFractionDigits: number < 100 ? 1 : 0 });
}

/** What a list of amounts on the wire says: `cpu 2, memory 4Gi`. */
export function resources(amounts) {
  return Object.keys(DIMENSIONS).filter((name) => amounts[name] !== undefined && amounts[name] !== "0")
    .map((name) => `${name} ${amounts[name]}`).join(", ");
}

export function clock(moment) {
  return new Date(moment).toLocaleTimeString("en", { hour12: false });
}

export function date(moment) {
  return moment ? new Date(moment).toLocaleString("en", { hour12: false, dateStyle: "medium", timeStyle: "medium" }) : "";
}

/** How long ago, or in how long. */
export function distance(moment, now) {
  const seconds = Math.round((new Date(moment) - new Date(now)) / 1000);
  const size = Math.abs(seconds);
  // Each unit is left before it would be rounded up to the next: 60 minutes are an hour.
  const text = size < 60 ? `${size} s` : size < 3570 ? `${Math.round(size / 60)} min` : size < 84600 ? `${Math.round(size / 3600)} h` : `${Math.round(size / 86400)} d`;
  return seconds > 0 ? `in ${text}` : `${text} ago`;
}

export const percent = (part, whole) => (whole > 0 ? Math.min(100, (100 * part) / whole) : 0);
