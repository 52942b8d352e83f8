//! Commands that describe and configure a unit, and what they return. The selectors are those of `src/iscsi_describe.rs`.

use iscsi::wire::pdu::Lun;
use iscsi::wire::scsi::mode::*;
use iscsi::wire::scsi::vpd::{
    BlockLimits, Designator, DesignatorAssociation, DesignatorName, Designators, PageCode, VpdPage,
};
use iscsi::wire::scsi::*;
use wire::Writer;

use super::Seed;

fn seed(name: &'static str, selector: u8, encode: &dyn Fn(&mut Writer)) -> Seed {
    let mut w = Writer::onto(vec![selector]);
    encode(&mut w);
    Seed { target: "iscsi_describe", name, bytes: w.into_bytes() }
}

pub fn seeds() -> Vec<Seed> {
    [commands(), data(), lists(), pages()].into_iter().flatten().collect()
}

fn commands() -> Vec<Seed> {
    let inquiry = Inquiry { vital: true, command_support: false, page: 0x83, allocation_length: 255 };
    let form = Form::Ten;
    let sense = ModeSense {
        form,
        long_descriptors: true,
        no_descriptors: false,
        control: PageControl::Default,
        page: 0x3f,
        subpage: 0xff,
        allocation_length: 255,
    };
    let select = ModeSelect { form, page_format: true, revert: false, save: false, length: 20 };
    let log = LogSense { save: false, control: 1, page: LogPageId(0x0c, 0), from: 1, allocation_length: 255 };
    let action = MaintenanceIn::OPERATION_CODES;
    let (options, opcode, of_action) = (0x82, 0x9e, 0x10);
    let report =
        MaintenanceIn { action, format: 1, options, opcode, of_action, allocation_length: 255, kind: 2 };
    let stop =
        StartStop { immediate: true, power_condition: 1, no_flush: true, load_eject: true, start: true };
    let format = FormatUnit { protection: 1, long: true, has_parameters: true };
    vec![
        seed("inquiry", 0, &|w| inquiry.encode(w)),
        seed("read-capacity-10", 1, &|w| ReadCapacity10 { lba: 1, partial: true }.encode(w)),
        seed("read-capacity-16", 2, &|w| {
            ReadCapacity16 { lba: 1, allocation_length: 32, partial: true }.encode(w);
        }),
        seed("report-luns", 3, &|w| ReportLuns { select: 2, allocation_length: 512 }.encode(w)),
        seed("request-sense", 4, &|w| {
            RequestSense { descriptors: true, allocation_length: 252 }.encode(w);
        }),
        seed("start-stop", 5, &|w| stop.encode(w)),
        seed("mode-sense-10", 6, &|w| sense.encode(w)),
        seed("mode-sense-6", 6, &|w| {
            ModeSense { form: Form::Six, long_descriptors: false, ..sense }.encode(w);
        }),
        seed("mode-select-10", 7, &|w| select.encode(w)),
        seed("mode-select-6", 7, &|w| ModeSelect { form: Form::Six, ..select }.encode(w)),
        seed("log-sense", 8, &|w| log.encode(w)),
        seed("maintenance-in", 9, &|w| report.encode(w)),
        seed("diagnostic", 10, &|w| SendDiagnostic { code: 0, self_test: true, length: 4 }.encode(w)),
        seed("format-unit", 11, &|w| format.encode(w)),
    ]
}

fn data() -> Vec<Seed> {
    let standard = StandardData {
        peripheral: Peripheral::DISK,
        version: 6,
        hierarchical: true,
        target_port_groups: 1,
        third_party_copy: true,
        several_ports: false,
        queues: true,
        vendor: padded("FOURFOLD"),
        product: padded("Virtual Disk"),
        revision: padded("1"),
        standards: vec![0xa0, 0x460, 0x4c0, 0x960],
    };
    let capacity = Capacity16 {
        last: 1 << 33,
        block_size: 512,
        physical_exponent: 3,
        thin: true,
        reads_zeros: true,
        aligned: 0,
    };
    let sense = Sense::in_cdb(2).about(1 << 33);
    vec![
        seed("standard", 16, &|w| standard.encode(w)),
        seed("capacity-10", 17, &|w| Capacity10 { last: 7, block_size: 512 }.encode(w)),
        seed("capacity-16", 18, &|w| capacity.encode(w)),
        seed("luns", 19, &|w| LunList(vec![Lun::of(0), Lun::of(300)]).encode(w)),
        seed("sense-fixed", 20, &|w| Sense::in_parameters(9).encode_fixed(w)),
        seed("sense-descriptors", 20, &|w| sense.encode_descriptors(w)),
        seed("log-page", 25, &|w| {
            let mut body = Writer::new();
            LogParameter { code: 1, value: vec![0, 0, 1, 0, 2, 0, 0, 0] }.encode(&mut body);
            LogPage { id: LogPageId::LOGICAL_BLOCK_PROVISIONING, body: body.as_bytes() }.encode(w);
        }),
        seed("resource", 26, &|w| Resource { count: 256, scope: 2 }.encode(w)),
        seed("format-long", 27, &|w| FormatHeader { usage: 0, pattern: true, defects: 8 }.encode(true, w)),
        seed("format-short", 28, &|w| FormatHeader { usage: 1, pattern: false, defects: 8 }.encode(false, w)),
    ]
}

fn lists() -> Vec<Seed> {
    let timeouts = Some(Timeouts { nominal_s: 1, recommended_s: 30 });
    let command = SupportedCommand { opcode: 0x9e, action: Some(0x10), length: 16, timeouts };
    let plain = SupportedCommand { opcode: 0x12, action: None, length: 6, timeouts: None };
    let group = PortGroup { preferred: true, state: 0, states: 1, number: 1, ports: vec![1, 2] };
    let groups = |transition_s| PortGroups { transition_s, groups: vec![group.clone()] };
    let names = Designators(vec![
        Designator {
            of: DesignatorAssociation::LogicalUnit,
            name: DesignatorName::Naa(0x3000_0000_0000_0001),
        },
        Designator {
            of: DesignatorAssociation::LogicalUnit,
            name: DesignatorName::Vendor(b"FOURFOLD1".to_vec()),
        },
        Designator { of: DesignatorAssociation::TargetPort, name: DesignatorName::Port(1) },
        Designator { of: DesignatorAssociation::TargetPort, name: DesignatorName::Group(1) },
        Designator {
            of: DesignatorAssociation::TargetDevice,
            name: DesignatorName::Text("iqn.2026-11.test:disk".into()),
        },
    ]);
    let limits = BlockLimits {
        write_same_nonzero: false,
        compare_and_write: 255,
        optimal_granularity: 8,
        transfer: 16384,
        optimal_transfer: 2048,
        prefetch: 0,
        unmap: 1 << 20,
        unmap_descriptors: 256,
        unmap_granularity: 8,
        unmap_alignment: Some(0),
        write_same: 16384,
    };
    let page = |code, body: &Writer, w: &mut Writer| {
        VpdPage { peripheral: Peripheral::DISK, code, body: body.as_bytes() }.encode(w);
    };
    vec![
        seed("commands", 21, &|w| SupportedCommands(vec![plain, command]).encode(w)),
        seed("command", 22, &|w| OneCommand { usage: Some(vec![0x12, 1]), timeouts }.encode(w)),
        seed("no-command", 22, &|w| OneCommand { usage: None, timeouts: None }.encode(w)),
        seed("groups", 23, &|w| groups(None).encode(w)),
        seed("groups-extended", 24, &|w| groups(Some(9)).encode(w)),
        seed("page-names", 29, &|w| {
            let mut body = Writer::new();
            names.encode(&mut body);
            page(PageCode::IDENTIFICATION, &body, w);
        }),
        seed("page-limits", 29, &|w| {
            let mut body = Writer::new();
            limits.encode(&mut body);
            page(PageCode::BLOCK_LIMITS, &body, w);
        }),
    ]
}

fn pages() -> Vec<Seed> {
    let control = Control {
        task_sets: 1,
        descriptor_sense: true,
        no_implicit_saving: true,
        reordering: 1,
        write_protected: true,
        busy_timeout: u16::MAX,
    };
    let threshold = Threshold { enabled: true, kind: 0, arming: 0, resource: 1, count: 200 };
    let provisioning = LogicalBlockProvisioning { one_initiator: true, thresholds: vec![threshold] };
    let mut all = Writer::new();
    ErrorRecovery { reports_thresholds: true }.encode(&mut all);
    DisconnectReconnect.encode(&mut all);
    Caching { write_cache: true }.encode(&mut all);
    control.encode(&mut all);
    ControlExtension { implicit_access: true }.encode(&mut all);
    InformationalExceptions.encode(&mut all);
    provisioning.encode(&mut all);
    let descriptors = |long| {
        let mut w = Writer::new();
        BlockDescriptor { blocks: 8, block_size: 512 }.encode(long, &mut w);
        w.into_bytes()
    };
    let parameters = |form, long, w: &mut Writer| {
        let (descriptors, pages) = (descriptors(long), all.as_bytes());
        ModeParameters { protected: true, dpo_fua: true, long, descriptors: &descriptors, pages }
            .encode(form, w);
    };
    vec![
        seed("mode-parameters-6", 32, &|w| parameters(Form::Six, false, w)),
        seed("mode-parameters-10", 33, &|w| parameters(Form::Ten, true, w)),
    ]
}
